import { pause } from './async.ts';
import { version } from './process.ts';
import { whyNotReached } from './text.ts';

/** The limit of what the service keeps of a body. */
export const keptOfOutput = 10_000;
const patienceMs = 10_000;

/**
 * Undefined when the ping was accepted, otherwise the reason, without the address, which ends in a
 * secret. A refused ping is not retried.
 */
export async function pingHeartbeat(
  address: string,
  body: string,
  limit: number,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    let why: string;
    try {
      const response = await fetch(address, {
        method: 'POST',
        body,
        headers: {
          'user-agent': `antipode/${version}`,
          'content-type': 'text/plain; charset=utf-8',
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(patienceMs),
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      why =
        response.status === 404
          ? 'the service knows no such heartbeat'
          : `the service answered ${response.status}`;
      if (response.status < 500 && response.status !== 429) return why;
    } catch (error) {
      why =
        error instanceof Error && error.name === 'TimeoutError'
          ? `no answer within ${patienceMs / 1000} s`
          : whyNotReached(error);
    }
    if (attempt === limit) return why;
    await pause(attempt * 1000);
  }
}
