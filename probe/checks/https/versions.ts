import type { Socket } from 'node:net';
import { createRecentCache } from '../../../shared/base/async.ts';
import type { Open } from '../connection/connect.ts';
import { isHttp2 } from '../connection/frames.ts';
import { alpnHttp2 } from '../connection/http2.ts';
import { ownCodes } from '../connection/observation.ts';
import type { Reached } from '../connection/reach.ts';
import { isRefusedProtocol } from '../connection/response.ts';
import type { CheckDeadline } from '../limits.ts';
import { type Exchanged, type ExchangeRequest, exchange } from './exchange.ts';
import { exchangeByHttp2 } from './exchange-http2.ts';

/** HTTP/1.1 alone. */
const alpnHttp1 = Buffer.from('\u0008http/1.1', 'latin1');

const maxOrigins = 1_024;
/** After this time a server that spoke HTTP/2 alone is asked by HTTP/1.1 again. */
const knownMs = 3_600_000;

/**
 * Origins that take nothing but HTTP/2, so that not each of their checks has to find that out. A
 * probe's own, for all of its checks.
 */
export type Http2Origins = {
  readonly has: (origin: string) => boolean;
  readonly note: (origin: string, isHttp2: boolean) => void;
};

export function createHttp2Origins(): Http2Origins {
  const until = createRecentCache<string, number>(maxOrigins);
  return {
    has: (origin) => performance.now() < (until.find(origin) ?? 0),
    note: (origin, isHttp2) => until.keep(origin, isHttp2 ? performance.now() + knownMs : 0),
  };
}

/** How to open a connection for a version of HTTP; `isHybrid`: with post-quantum groups. */
export type Opening = (isHybrid: boolean, alpn: Buffer) => Open;

export function firstOpening(opening: Opening, byHttp2: boolean): Open {
  return opening(false, alpnOf(byHttp2));
}

function alpnOf(byHttp2: boolean): Buffer {
  return byHttp2 ? alpnHttp2 : alpnHttp1;
}

/**
 * Sends the request by HTTP/1.1, and once more by HTTP/2 where the server takes nothing else. What
 * `firstOpening` opened comes first: an origin that is known to be such a one is asked by HTTP/2,
 * and by HTTP/1.1 if it no longer is. Other servers get one request of HTTP/1.1, as ever.
 */
export async function exchangeByEither(
  reached: Reached & { readonly socket: Socket; readonly byHttp2: boolean },
  opening: Opening,
  request: ExchangeRequest & { readonly isExpected: (status: number) => boolean },
  origin: string,
  origins: Http2Origins,
  deadline: CheckDeadline,
): Promise<Exchanged> {
  const { byHttp2 } = reached;
  const send = (socket: Socket, at: number, inHttp2: boolean): Promise<Exchanged> =>
    (inHttp2 ? exchangeByHttp2 : exchange)(socket, at, request, deadline);
  let isHybrid = false;
  let seen = await send(reached.socket, reached.at, byHttp2);
  if (seen.failure?.phase === 'tls' && seen.failure.code.endsWith('ALERT_HANDSHAKE_FAILURE')) {
    // Nothing in common may mean that the server takes post-quantum groups only. The first
    // handshake reports any other fault.
    const { socket, at } = await reached.connectAgain(opening(true, alpnOf(byHttp2)));
    const second = socket && (await send(socket, at, byHttp2));
    if (second?.tls || (second?.failure && isRefusedProtocol(second.failure))) {
      seen = second;
      isHybrid = true;
    }
  }
  const isOtherWanted = byHttp2
    ? isNotHttp2(seen, request.method)
    : isHttp2Wanted(seen, request.isExpected);
  if (!isOtherWanted) return seen;
  if (byHttp2) origins.note(origin, false);
  const { socket, at, code } = await reached.connectAgain(opening(isHybrid, alpnOf(!byHttp2)));
  if (!socket)
    return seen.reader.status === 0 ? { ...seen, failure: { phase: 'tcp', code } } : seen;
  const other = await send(socket, at, !byHttp2);
  // A path that has the same status by both is its own fault, and says nothing of the origin.
  if (!byHttp2 && other.reader.status !== seen.reader.status && other.reader.status !== 0)
    origins.note(origin, true);
  // A status that only may mean it stays what the server said, unless it says something else now.
  const isOther = other.reader.status !== 0 || seen.reader.status === 0;
  (isOther ? seen : other).reader.kept.free();
  return isOther ? other : seen;
}

/** Whether a server that was asked by HTTP/1.1 says, in one of its ways, that it wants HTTP/2. */
function isHttp2Wanted(
  { reader, failure }: Exchanged,
  isExpected: (status: number) => boolean,
): boolean {
  const { status, headers, beginning } = reader;
  if (failure !== null)
    return isRefusedProtocol(failure) || (isHttp2(beginning) && failure.code !== ownCodes.deadline);
  if (isExpected(status)) return false;
  const isUpgrade = ([name, value]: readonly [string, string]): boolean =>
    name === 'upgrade' && /\bh2c?\b/i.test(value);
  return status === 505 || (status === 426 && headers.some(isUpgrade));
}

/**
 * Whether a server that was asked by HTTP/2 does not speak it, or says that it wants HTTP/1.1. One
 * that closes the connection without an answer may be one, and is retried where that is safe.
 */
function isNotHttp2({ reader, failure }: Exchanged, method: string): boolean {
  return (
    failure !== null &&
    (isRefusedProtocol(failure) ||
      reader.beginning.length > 0 ||
      (failure.phase === 'first_byte' &&
        failure.code !== ownCodes.deadline &&
        failure.code !== ownCodes.memory &&
        ['GET', 'HEAD'].includes(method)) ||
      /^(?:RST_STREAM|GOAWAY) HTTP_1_1_REQUIRED$/.test(failure.code))
  );
}
