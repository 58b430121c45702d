import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { KnownKey } from '../../shared/bus/beat-desk.ts';
import { jsonOf } from '../../shared/bus/message-json.ts';
import { beatKeyMessage } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import { probeConsumers, streams } from '../../shared/bus/streams.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import { createDigest, elementOf } from '../../shared/checks/digest.ts';
import { openJournal } from './journal.ts';

/**
 * The heartbeat keys that exist, by heart and on disk, so that this probe's ear answers without asking anybody.
 *
 * Modes: `from disk` → attach → `following` ↔ `taking stock` (our consumer was made anew and everything comes once more: what has not come by
 * the end of it is gone).
 */
export type EarKeys = {
  readonly attach: (bus: Bus) => void;
  readonly find: (key: string) => KnownKey | undefined;
  readonly close: () => Promise<void>;
};

const line = z.union([z.object({ put: z.string(), is: beatKeyMessage }), z.object({ gone: z.string() })]);
type Line = z.infer<typeof line>;

const atOnce = 500;
const reportEveryMs = 10_000;

const keyOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

export const openEarKeys = async (options: {
  readonly folder: string;
  readonly probe: { readonly id: string; readonly organisation: string | null };
  readonly log: Log;
}): Promise<EarKeys> => {
  const { folder, probe, log } = options;
  const keys = new Map<string, KnownKey>();
  const digest = createDigest();
  let stock: Set<string> | undefined;
  let pull: Pull | undefined;
  let timer: NodeJS.Timeout | undefined;

  const apply = (change: Line): void => {
    const key = 'put' in change ? change.put : change.gone;
    if (keys.delete(key)) digest.remove(elementOf(`${key}@0`));
    if (!('put' in change)) return;
    const { organisation, monitor, until } = change.is;
    keys.set(key, { organisation, monitor, until });
    digest.add(elementOf(`${key}@0`));
  };

  const journal = await openJournal({
    folder: join(folder, 'beat-keys'),
    replay: (text) => {
      try {
        apply(line.parse(JSON.parse(text)));
      } catch (error) {
        log.warn({ err: error }, 'a stored heartbeat key cannot be read; it comes again from the bus');
      }
    },
    snapshot: function* () {
      for (const [put, known] of keys) yield JSON.stringify({ put, is: { v: 1, ...known } });
    },
  });

  const read = ({ subject, data }: Delivered): Line | undefined => {
    try {
      if (data.length === 0) return { gone: keyOf(subject) };
      return { put: keyOf(subject), is: beatKeyMessage.parse(jsonOf(data)) };
    } catch (error) {
      log.error({ err: error }, 'a heartbeat key cannot be read and is passed over');
      return undefined;
    }
  };

  const takeStock = (change: Line, message: Delivered): Line[] => {
    if (message.delivery === 1) stock = new Set();
    if (!stock) return [];
    stock.add('put' in change ? change.put : change.gone);
    if (message.pending > 0) return [];
    const came = stock;
    stock = undefined;
    return [...keys.keys()].filter((key) => !came.has(key)).map((gone) => ({ gone }));
  };

  const onMessages = async (messages: readonly Delivered[]): Promise<void> => {
    const changes: Line[] = [];
    for (const message of messages) {
      const change = read(message);
      if (!change) continue;
      for (const one of [change, ...takeStock(change, message)]) {
        apply(one);
        changes.push(one);
      }
    }
    await journal.append(changes.map((change) => JSON.stringify(change)));
    for (const message of messages) message.ack();
  };

  return {
    attach: (bus) => {
      const consumer = probeConsumers.beatKeys(probe.id, probe.organisation).name;
      pull = bus.pull({ stream: streams.beatKeys.name, consumer, batch: atOnce, onMessages });
      const report = () => {
        if (!bus.isConnected()) return;
        bus.publish(subjects.earKeys(probe.id), JSON.stringify({ v: 1, probe: probe.id, count: digest.count(), digest: digest.text() }));
      };
      timer = setInterval(report, reportEveryMs);
      report();
    },
    find: (key) => keys.get(key),
    close: async () => {
      clearInterval(timer);
      await pull?.stop();
      await journal.close();
    },
  };
};
