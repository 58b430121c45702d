import { backoff } from '../../shared/base/async.ts';
import type { Clock } from '../../shared/base/time.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import type { Headers } from '../../shared/bus/messages.ts';
import { forwardedPingsReply, maxForwardedPings } from '../../shared/bus/messages.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import type { SpooledPing } from '../../shared/bus/ping-spool.ts';
import type { PingForwarding } from '../../shared/bus/pings.ts';
import { post } from '../presence/post.ts';

/**
 * How pings leave a ping receiver that is cut off from the bus, but not from the Internet. It sends
 * them, signed, to the coordinator's own address, below the path of heartbeats. The judging probes
 * then see them on the bus as if the ping receiver had published them; otherwise they would call a
 * punctual job late.
 *
 * Modes: `open` → (no coordinator answered, or it accepted nothing) `resting`, longer each time →
 * `open`; `closed`.
 */
type Dependencies = {
  readonly probe: string;
  readonly key: Key;
  /** The coordinator's address; empty until it is known. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  /** Who may have signed the coordinator's certificate, besides those that this machine trusts. */
  readonly authorities: string | undefined;
};

/** Below the limit of any proxy, and half of what the coordinator reads. */
const maxBytes = 256 * 1024;
const patienceMs = 15_000;
const firstRestMs = 1_000;
const longestRestMs = 15_000;

const addressFor = (baseUrl: string, probe: string): URL | null =>
  /^https?:/.test(baseUrl) ? URL.parse(`${baseUrl.replace(/\/+$/, '')}/beat/kept/${probe}`) : null;

const headersOf = (signature: Headers): Headers => ({
  'content-type': 'application/json',
  ...Object.fromEntries(Object.entries(signature).map(([name, value]) => [`antipode-${name.toLowerCase()}`, value])),
});

/** The first pings, as many as fit into one call, in wire format. */
const frontOf = (waiting: readonly SpooledPing[]): string[] => {
  const texts: string[] = [];
  let bytes = 0;
  for (const { ping } of waiting.slice(0, maxForwardedPings)) {
    const text = JSON.stringify(ping);
    bytes += Buffer.byteLength(text) + 1;
    if (texts.length > 0 && bytes > maxBytes) break;
    texts.push(text);
  }
  return texts;
};

export const createPingForwarding = ({ probe, key, baseUrl, clock, authorities }: Dependencies): PingForwarding => {
  const closing = new AbortController();
  let failures = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const bring = async (waiting: readonly SpooledPing[], leaving: AbortSignal): Promise<ReadonlySet<string>> => {
    const address = addressFor(baseUrl(), probe);
    if (address === null) throw new Error('the address of the coordinator is not known yet');
    const pings = frontOf(waiting).join();
    const body = Buffer.from(`{"v":1,"probe":"${probe}","sent_at":${clock.now()},"beats":[${pings}]}`);
    const signal = AbortSignal.any([closing.signal, leaving, AbortSignal.timeout(patienceMs)]);
    const { status, text } = await post(address, { headers: headersOf(signatureOf(key, body)), body, signal, authorities });
    if (status !== 200) throw new Error(`the coordinator at ${address.origin} answered ${status}: ${text.slice(0, 200)}`);
    const done = new Set(forwardedPingsReply.parse(JSON.parse(text)).done);
    if (!waiting.some(({ ping }) => done.has(ping.id))) throw new Error(`the coordinator at ${address.origin} took none of them`);
    return done;
  };

  return {
    isOpen: () => !closing.signal.aborted && performance.now() >= restsUntil && addressFor(baseUrl(), probe) !== null,
    handOver: async (waiting, leaving) => {
      try {
        const handed = await bring(waiting, leaving);
        failures = 0;
        return { handed, failures: [] };
      } catch (error) {
        if (leaving.aborted) throw error;
        restsUntil = performance.now() + backoff(failures, firstRestMs, longestRestMs);
        failures += 1;
        throw error;
      }
    },
    close: () => closing.abort(),
  };
};
