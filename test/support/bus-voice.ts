/** For test files: speaks on the bus with a probe's own credentials and key, whatever the test wants said. */
import { newId } from '../../shared/base/crypto.ts';
import { parseProbeCredentials, relayedSubject, signatureOf } from '../../shared/bus/identity.ts';
import { batchVersion } from '../../shared/bus/messages.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { type Key, keyFromSeed, parseCredentials } from '../../shared/bus/nkeys.ts';
import { inboxOf, partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from './eventually.ts';
import { type MadeProbe, testLog } from './network.ts';

export type Said = { readonly seq: number; readonly at: number; readonly outcome: 'ok' | 'fail' } & { readonly [more: string]: unknown };

export type Voice = {
  readonly bus: Bus;
  readonly key: Key;
  readonly generation: string;
  /** One batch about one monitor; `more` overrides what stands in the batch. */
  readonly say: (
    monitor: string,
    results: readonly Said[],
    after?: number | null,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
  /** These very bytes, signed or not, on a subject of its own or another's. */
  readonly shout: (subject: string, body: string, signature?: Readonly<Record<string, string>>) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const speakAs = async (made: MadeProbe, firstConnectionMs = 30_000): Promise<Voice> => {
  const credentials = parseProbeCredentials(made.credentials);
  const key = keyFromSeed(parseCredentials(credentials.nats_credentials).seed, 'user');
  const bus = await connectBus({
    url: credentials.nats_url,
    credentials: credentials.nats_credentials,
    name: `voice of ${made.name}`,
    inboxPrefix: inboxOf(made.id),
    ...(credentials.organisation === null ? {} : { routeOf: (subject: string) => relayedSubject(made.id, subject) }),
    log: testLog(),
    firstConnectionMs,
  });
  const generation = newId();
  const shout: Voice['shout'] = async (subject, body, signature) => {
    await bus.store(subject, body, { headers: signature ?? signatureOf(key, Buffer.from(body)), timeoutMs: 10_000 });
  };
  return {
    ...{ bus, key, generation, shout },
    close: bus.close,
    say: async (monitor, results, after = null, more = {}) => {
      const partition = partitionOf(monitor);
      const full = results.map((result) => ({
        ...{ monitor, config_version: 1, took_ms: 5, phases: null, evidence: null, look: null },
        cause: result.outcome === 'ok' ? null : { class: 'http_status', params: { status: 503 } },
        ...result,
      }));
      const body = JSON.stringify({
        ...{ v: batchVersion, probe: made.id, generation, partition, after },
        ...{ passes: { monitors: [], numbers: [] }, others: full, ...more },
      });
      // Said again where nobody answered, as a probe does: a stream may be without a leader for a while.
      await eventually(() => shout(subjects.result(made.continent, partition, made.id), body).then(() => true));
    },
  };
};
