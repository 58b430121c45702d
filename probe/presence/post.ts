import type { IncomingMessage } from 'node:http';
import { trustHere } from '../../shared/base/network.ts';

/** As in pings/receiver.ts: importing these modules would load all of undici. */
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

export type Posted = { readonly status: number; readonly text: string };

/** No answer to a probe is longer than this. */
const maxAnswerBytes = 256 * 1024;

/** One call with a body, over a new connection: the other side may be just closing an old one. */
export const post = async (
  address: URL,
  options: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly signal: AbortSignal;
    /** Authorities besides those that this machine trusts, as PEM. */
    readonly authorities: string | undefined;
  },
): Promise<Posted> => {
  const { headers, body, signal, authorities } = options;
  const trust = address.protocol === 'https:' ? { secureContext: trustHere(authorities) } : {};
  const { request } = address.protocol === 'https:' ? https : http;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = { ...headers, 'content-length': body.length };
  const call = request(address, { method: 'POST', agent: false, signal, headers: sent, ...trust }, resolve);
  // Also for errors after the head of the answer; the reader of the rest receives those itself.
  call.on('error', reject);
  call.end(body);
  const response = await promise;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new Error('the answer is larger than any answer to this');
    parts.push(part);
  }
  if (!response.complete) throw new Error('the answer was cut off');
  return { status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() };
};
