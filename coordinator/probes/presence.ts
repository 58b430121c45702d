import { createRecentCache } from '../../shared/base/async.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import { version } from '../../shared/base/process.ts';
import type { Clock } from '../../shared/base/time.ts';
import { isAnswerableTo, isRenewalDue } from '../../shared/bus/identity.ts';
import {
  jsonOf,
  type PresenceMessage,
  type PresenceReply,
  presenceMessage,
  type ReceiptMessage,
  registrationQuestion,
  type TestAnswerMessage,
  testAnswerMessage,
  wireVersion,
} from '../../shared/bus/messages.ts';
import type { Bus, Message, Subscription } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Registration } from '../../shared/checks/domain/registration.ts';
import { sealKeyTo } from '../../shared/checks/sealed-secrets.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { committedOf } from '../engine/queries.ts';
import { openNotice } from '../health/notices.ts';
import type { Refusals } from '../health/refusals.ts';
import type { Announcements } from './announcements.ts';
import { type Directory, senderOf } from './directory.ts';
import type { DuplicateProbes } from './duplicates.ts';
import type { KeyOf } from './identities.ts';
import { keyPlaceOf, type ProbeRow, writeDropped } from './queries.ts';

/** A probe has just reported its presence. */
export type Present = {
  readonly probe: ProbeRow;
  readonly message: PresenceMessage;
  readonly at: number;
};

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly refusals: Refusals;
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  /** Whether public probes sign their requests and are listed. */
  readonly identify: boolean;
  readonly rosterEpoch: () => number;
  readonly keyOf: KeyOf;
  /** Whether a later process runs as the same probe. */
  readonly session: DuplicateProbes['hear'];
  readonly onPresent: (present: Present) => void;
  readonly announcements: Pick<Announcements, 'announce' | 'trust'>;
  /** New credentials for a key of the probe. */
  readonly renew: (probe: ProbeRow, key: string) => string;
  /** What the registry of a domain says; undefined where another coordinator asks registries. */
  readonly askRegistry: (domain: string, probe: ProbeRow) => Promise<Registration> | undefined;
  /** A probe has answered a test run. */
  readonly onTrialAnswer: (answer: TestAnswerMessage) => void;
};

/** Receives and answers presence. Every coordinator does so, because it may be the only one. */
export function receivePresence(dependencies: Dependencies): Subscription {
  const { sql, bus, clock, log, directory, refusals, keyOf } = dependencies;
  // Sealing makes a new key pair; while neither key changes, the old answer remains valid.
  const sealed = createRecentCache<string, Record<string, string>>(1_000);

  const sealKeysFor = (probe: ProbeRow, sealKey: string): Record<string, string> => {
    const key = keyOf(keyPlaceOf(probe));
    const name = `${probe.id} ${sealKey} ${key.id}`;
    const known = sealed.find(name);
    if (known) return known;
    const made = { [key.id]: sealKeyTo(sealKey, key) };
    sealed.keep(name, made);
    return made;
  };

  const committed = (probe: ProbeRow, generation: string): Promise<Record<string, number>> =>
    committedOf(sql, probe.key, generation).catch((error: unknown) => {
      // Clock and roster are worth an answer even while the database is down.
      log.warn({ err: error, probe: probe.id }, 'could not report how far results are committed');
      return {};
    });

  /** Replaces credentials that end soon, if their key is not being rotated out. */
  const renewed = (
    probe: ProbeRow,
    { credentials }: PresenceMessage,
    now: number,
  ): { jwt?: string } =>
    credentials &&
    isRenewalDue(credentials, now) &&
    probe.keys.some(({ key, until }) => key === credentials.key && until === null)
      ? { jwt: dependencies.renew(probe, credentials.key) }
      : {};

  /** Signed as an answer to this probe, and sent only to an inbox of that probe. */
  const answer = (message: Message, probe: string, body: object): void => {
    if (message.reply === undefined) return;
    if (isAnswerableTo(probe, message.reply)) {
      const data = Buffer.from(JSON.stringify(body));
      const [headers] = dependencies.announcements.announce([
        { subject: subjects.presence(probe), data },
      ]);
      message.respond(data, headers);
    } else refusals.count(probe, 'wrong_subject');
  };

  const hear = async (message: Message): Promise<void> => {
    const [, id = ''] = message.subject.split('.');
    const now = clock.now();
    const probe = await senderOf(id, message, directory, now);
    if ('refused' in probe) return refusals.count(id, probe.refused);
    const said = jsonOf(message.data);
    const trial = testAnswerMessage.safeParse(said);
    if (trial.success && trial.data.probe === id) return dependencies.onTrialAnswer(trial.data);
    const question = registrationQuestion.safeParse(said);
    if (question.success && question.data.probe === id) {
      const { domain } = question.data;
      const registration = await dependencies.askRegistry(domain, probe);
      return registration && answer(message, id, { v: wireVersion, domain, registration });
    }
    const read = presenceMessage.safeParse(said);
    if (!read.success && isOfOtherWire(said)) {
      answer(message, id, { refused: otherWire(probe.name) });
      return refusals.count(id, 'unknown_version');
    }
    if (!read.success || read.data.probe !== id) return refusals.count(id, 'malformed');
    const { isOlder, ends } = dependencies.session(probe, read.data);
    // The network follows the later process of a probe.
    if (!isOlder) dependencies.onPresent({ probe, message: read.data, at: now });
    const reply: PresenceReply = {
      v: 1,
      now: clock.now(),
      heard_at: now,
      base_url: dependencies.baseUrl(),
      anchors: [...dependencies.anchors()],
      roster_epoch: dependencies.rosterEpoch(),
      committed: await committed(probe, read.data.generation),
      seal_keys: sealKeysFor(probe, read.data.seal_key),
      signing: { keys: [...dependencies.announcements.trust()] },
      identify: dependencies.identify && probe.organisation_id === null,
      ...(ends ? { displaced: true } : renewed(probe, read.data, now)),
    };
    // The clock is read last: any wait in between would make it late.
    answer(message, id, { ...reply, now: clock.now() });
  };
  return bus.subscribe(subjects.allPresence, hear);
}

function isOfOtherWire(said: unknown): boolean {
  return isRecord(said) && typeof said.v === 'number' && said.v !== wireVersion;
}

function otherWire(name: string): string {
  return `This coordinator (${version}) reads version ${wireVersion} of the wire, and ${name} speaks another: upgrade coordinators before probes, or go back to the version of the probe that it knew. It goes on checking, and keeps what it sees on its disk.`;
}

/**
 * Results that probes dropped because no one fetched them (rule 6: counted and reported). A probe
 * counts from its start on. The database stores the reported count, so that another leader does not
 * report it again.
 */
type DroppedResults = {
  readonly hear: (present: Present) => void;
  /** Only for the leader. */
  readonly tick: () => Promise<void>;
};

type DroppedResultsDependencies = {
  readonly sql: Sql;
  readonly onDropped: (probe: string, message: string) => void;
};

export function createDroppedResults({
  sql,
  onDropped,
}: DroppedResultsDependencies): DroppedResults {
  const said = new Map<
    string,
    { readonly name: string; readonly session: string; readonly dropped: number }
  >();
  const existing = new Map<string, string>();
  return {
    hear: ({ probe, message }) => {
      const { session, spool } = message;
      if (spool.dropped > 0)
        said.set(probe.id, { name: probe.name, session, dropped: spool.dropped });
    },
    tick: async () => {
      for (const [probe, { name, session, dropped }] of said) {
        const word = `${session} ${dropped}`;
        if (existing.get(probe) === word) continue;
        const message = `The probe ${name} had to drop results since its start (${dropped.toLocaleString('en')}): its spool was full or damaged`;
        const isNews = await inTransaction(sql, async (transaction) => {
          if (!(await writeDropped(transaction, probe, session, dropped))) return false;
          await openNotice(transaction, 'results_dropped', probe, message);
          return true;
        });
        existing.set(probe, word);
        if (isNews) onDropped(probe, message);
      }
    },
  };
}

/**
 * Tells probes how far their results are committed. One receipt covers all partitions whose commits
 * end together: a probe sends to all of them at once, and wakes up for each message. Nothing waits
 * for a receipt.
 *
 * A receipt waits for those of other partitions; closing sends what waits.
 */
export type Receipts = {
  readonly give: (subject: string, receipt: ReceiptMessage) => void;
  readonly close: () => void;
};

const gatherMs = 100;

export function createReceipts({ bus }: { readonly bus: Pick<Bus, 'publish'> }): Receipts {
  let gathered = new Map<string, readonly [subject: string, receipt: ReceiptMessage]>();
  let timer: NodeJS.Timeout | undefined;

  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = gathered;
    gathered = new Map();
    for (const [subject, receipt] of all.values()) bus.publish(subject, JSON.stringify(receipt));
  };

  return {
    give: (subject, receipt) => {
      const name = `${subject} ${receipt.generation}`;
      const before = gathered.get(name);
      gathered.set(name, [subject, before ? merged(before[1], receipt) : receipt]);
      timer ??= setTimeout(tell, gatherMs);
    },
    close: tell,
  };
}

/** The later receipt of a partition wins. */
function merged(before: ReceiptMessage, after: ReceiptMessage): ReceiptMessage {
  return {
    ...after,
    committed: { ...before.committed, ...after.committed },
    again: [...before.again.filter((partition) => !(partition in after.committed)), ...after.again],
  };
}
