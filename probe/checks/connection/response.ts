import type { HttpsCause } from '../../../shared/checks/https/causes.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import { type Failure, ownCodes } from './observation.ts';

/** Pure tables of what may fail while a response of HTTP is read, by either of its versions. */

const readingCodes = {
  [ownCodes.malformed]: 'response_malformed',
  [ownCodes.headersTooLarge]: 'response_headers_too_large',
  [ownCodes.framingTooLarge]: 'response_framing_too_large',
} as const satisfies Readonly<Record<string, HttpsCause>>;

const reading = { codes: readingCodes, otherwise: 'response_incomplete' satisfies HttpsCause };

/** The phases of a response, beside those of its connection. */
export const responsePhases = {
  first_byte: {
    codes: {
      ...readingCodes,
      [ownCodes.closed]: 'response_missing',
      [ownCodes.incomplete]: 'response_incomplete',
    } satisfies Readonly<Record<string, HttpsCause>>,
    otherwise: 'connection_reset',
  },
  head: reading,
  body: reading,
} as const;

/** Whether the server takes none of the protocols that the handshake offered. */
export function isRefusedProtocol({ phase, code }: Failure): boolean {
  return phase === 'tls' && /^ERR_SSL_[A-Z0-9/_]*NO_APPLICATION_PROTOCOL$/.test(code);
}

/** The cause of an end that HTTP/2 has a code for; undefined for any other failure. */
export function http2Cause({ code: text }: Failure): Cause | undefined {
  const [, frame, code = ''] = /^(RST_STREAM|GOAWAY) (\S+)$/.exec(text) ?? [];
  if (frame === undefined) return undefined;
  const name: HttpsCause = frame === 'GOAWAY' ? 'http2_closed' : 'http2_cancelled';
  return { class: name, params: { code } };
}
