import { createRecentCache } from '../../../shared/base/async.ts';
import {
  type RequestKey,
  requestLifetimeS,
  type SignedRequest,
  signRequest,
} from '../../../shared/base/http-signatures.ts';

/** The lines that sign a request of now. */
export type RequestSigner = (request: Omit<SignedRequest, 'agent'>, now: number) => Buffer;

/**
 * A signature costs as much as a twentieth of a check, so the same authority gets the same one for
 * most of its life. It covers no path: anyone who could replay it sees the requests of that
 * authority anyway. A minute is left for the request to arrive.
 */
const reusedMs = (requestLifetimeS - 60) * 1_000;
const maxKept = 1_024;

/** Signs for the origin where the directory of its key lies. */
export function createRequestSigner(key: RequestKey, agent: string): RequestSigner {
  const recent = createRecentCache<string, { readonly lines: Buffer; readonly until: number }>(
    maxKept,
  );
  return (request, now) => {
    const { authority, method, isSecure } = request;
    const name = `${method} ${isSecure} ${authority}`;
    const known = recent.find(name);
    // A clock that was set back must not make a signature of the future last.
    if (known && now < known.until && now >= known.until - reusedMs) return known.lines;
    const lines = Buffer.from(
      signRequest(key, { ...request, agent }, Math.floor(now / 1_000)),
      'latin1',
    );
    recent.keep(name, { lines, until: now + reusedMs });
    return lines;
  };
}
