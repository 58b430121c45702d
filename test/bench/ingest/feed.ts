import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchText, passText } from '../../../shared/bus/batch.ts';
import { parseProbeCredentials, signaturesOf } from '../../../shared/bus/identity.ts';
import type { Bus } from '../../../shared/bus/nats.ts';
import { keyFromSeed, parseCredentials } from '../../../shared/bus/nkeys.ts';
import { partitionCount, subjects } from '../../../shared/bus/subjects.ts';
import type { Result } from '../../../shared/checks/result.ts';

/**
 * One probe's results of every monitor, as its reporter would send them: batches of a partition, in
 * order, signed with what leaves with them. Made ahead, so that sending costs little.
 */
type Prepared = {
  readonly subject: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
};

const pass: Omit<Result, 'seq' | 'monitor' | 'at'> = {
  config_version: 1,
  took_ms: 35.25,
  outcome: 'ok',
  cause: null,
  evidence: null,
  look: null,
  phases: { dns: 1.2, tcp: 9.8, tls: 20.1, first_byte: 30.5, total: 35.25 },
};
const perBatch = 100;
const atOnce = 32;
const maxAtOnce = 500;

export const prepareResults = (
  probe: { readonly id: string; readonly continent: Continent; readonly credentials: string },
  byPartition: ReadonlyMap<number, readonly string[]>,
  at: number,
): readonly Prepared[] => {
  const key = keyFromSeed(
    parseCredentials(parseProbeCredentials(probe.credentials).nats_credentials).seed,
    'user',
  );
  const generation = newId();
  const prepared: Prepared[] = [];
  let leaving: { readonly subject: string; readonly body: Buffer }[] = [];
  const leave = (): void => {
    const signed = signaturesOf(
      [key],
      leaving.map(({ body }) => body),
    );
    for (const [nth, message] of leaving.entries())
      prepared.push({ ...message, headers: signed[nth] ?? {} });
    leaving = [];
  };
  let seq = 0;
  for (let partition = 0; partition < partitionCount; partition += 1) {
    const monitors = byPartition.get(partition) ?? [];
    let after: number | null = null;
    for (let from = 0; from < monitors.length; from += perBatch) {
      const texts = monitors.slice(from, from + perBatch).map((monitor, index) => {
        seq += 1;
        return passText(seq, { ...pass, monitor, at: at + (index % 50) }) ?? '';
      });
      const head = { probe: probe.id, generation, partition, after };
      const body = Buffer.from(batchText(head, texts));
      after = seq;
      leaving.push({ subject: subjects.result(probe.continent, partition, probe.id), body });
      if (leaving.length >= atOnce) leave();
    }
  }
  leave();
  return prepared;
};

/** Settles when the stream has them all. */
export const sendResults = async (bus: Bus, prepared: readonly Prepared[]): Promise<void> => {
  const waiting = new Set<Promise<unknown>>();
  for (const { subject, body, headers } of prepared) {
    const stored: Promise<unknown> = bus
      .store(subject, body, { headers, timeoutMs: 30_000 })
      .finally(() => waiting.delete(stored));
    waiting.add(stored);
    while (waiting.size >= maxAtOnce) await Promise.race(waiting);
  }
  await Promise.all(waiting);
};
