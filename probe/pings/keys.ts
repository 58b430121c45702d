import { join } from 'node:path';
import { z } from 'zod';
import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import { jsonOf, pingKeyMessage } from '../../shared/bus/messages.ts';
import type { Bus, Pull } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import type { KnownKey } from '../../shared/bus/pings.ts';
import { lastTokenOf, probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import { createDigest, elementOf } from '../../shared/checks/assignment.ts';
import { openFollowedSet } from '../disk/journal.ts';
import type { Announcements } from '../presence/announcements.ts';

/**
 * The existing heartbeat keys, in memory and on disk. The probe's ping receiver answers from them
 * without a query. A followed set: disk/journal.ts describes its modes.
 */
export type ReceiverKeys = {
  readonly attach: (bus: Bus) => void;
  readonly find: (key: string) => KnownKey | undefined;
  readonly close: () => Promise<void>;
};

const revision = z.int().min(0);
const line = z.union([
  z.object({ put: z.string(), is: pingKeyMessage, revision }),
  z.object({ gone: z.string(), revision }),
]);
type Line = z.infer<typeof line>;

const atOnce = 500;
const reportEveryMs = 10_000;

export async function openReceiverKeys(options: {
  readonly supervisor: Starts<'receiver keys'>;
  readonly folder: string;
  readonly probe: { readonly id: string; readonly organisation: string | null };
  readonly key: Key;
  readonly announcements: Pick<Announcements, 'read' | 'isOutdated'>;
  readonly log: Log;
}): Promise<ReceiverKeys> {
  const { folder, supervisor, probe, key: ownKey, announcements, log } = options;
  const keys = new Map<string, KnownKey>();
  /** Revisions of the held keys, and of those revoked since this process began. */
  const revisions = new Map<string, number>();
  const digest = createDigest();
  let pull: Pull | undefined;

  const apply = (change: Line): void => {
    const key = 'put' in change ? change.put : change.gone;
    revisions.set(key, change.revision);
    if (keys.delete(key)) digest.remove(elementOf(`${key}@0`));
    if (!('put' in change)) return;
    const { organisation, monitor, until } = change.is;
    keys.set(key, { organisation, monitor, until });
    digest.add(elementOf(`${key}@0`));
  };

  const set = await openFollowedSet<Line>({
    folder: join(folder, 'beat-keys'),
    noun: 'heartbeat key',
    line,
    apply,
    announced: (message) => announcements.read(message, message.subject),
    lineOf: ({ subject, data }, revision) => {
      const key = lastTokenOf(subject);
      return data.length === 0 ? { gone: key, revision } : { put: key, is: jsonOf(data), revision };
    },
    isLate: (change, { subject }) =>
      announcements.isOutdated(
        subject,
        change.revision,
        revisions.get('put' in change ? change.put : change.gone),
      ),
    entriesOf: (change) => ['put' in change ? change.put : change.gone],
    entries: () => keys.keys(),
    gone: (key) => ({ gone: key, revision: 0 }),
    snapshot: function* () {
      for (const [put, known] of keys) {
        yield { put, is: { v: 1, ...known }, revision: revisions.get(put) ?? 0 };
      }
    },
    log,
  });

  return {
    attach: (bus) => {
      const consumer = probeConsumers.pingKeys(probe.id, probe.organisation).name;
      pull = bus.pull({
        stream: streams.pingKeys.name,
        consumer,
        batch: atOnce,
        onMessages: set.onMessages,
      });
      const tick = async (): Promise<void> => {
        if (!bus.isConnected()) return;
        const body = Buffer.from(
          JSON.stringify({ v: 1, probe: probe.id, count: digest.count(), digest: digest.text() }),
        );
        bus.publish(subjects.receiverKeys(probe.id), body, signatureOf(ownKey, body));
      };
      supervisor.ticker('receiver keys', { everyMs: reportEveryMs, tick }).hurry();
    },
    find: (key) => keys.get(key),
    close: async () => {
      await pull?.stop();
      await set.close();
    },
  };
}
