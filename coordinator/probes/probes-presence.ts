import { createRecentCache } from '../../shared/base/async.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import { version } from '../../shared/base/process.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AnnouncementTrust } from '../../shared/bus/announcement.ts';
import { newestBatch } from '../../shared/bus/batch.ts';
import { isAnswerableTo, isRenewalDue } from '../../shared/bus/identity.ts';
import {
  jsonOf,
  type PresenceMessage,
  type PresenceReply,
  presenceMessage,
  type TrialAnswerMessage,
  trialAnswerMessage,
  wireVersion,
} from '../../shared/bus/messages.ts';
import type { Bus, Message, Subscription } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import { sealKeyTo } from '../../shared/checks/sealed-secrets.ts';
import type { Refusals } from '../house/house-refused-messages.ts';
import type { Sql } from '../store/store-database.ts';
import type { ProbeRow } from '../store/store-probes.ts';
import { committedOf } from '../store/store-watermarks.ts';
import type { Announcements } from './probes-announcements.ts';
import { keyPlaceOf } from './probes-assignments.ts';
import type { Directory } from './probes-directory.ts';
import type { KeyOf } from './probes-network-keys.ts';
import { senderOf } from './probes-sender-check.ts';
import type { Twins } from './probes-twice.ts';

/** A probe has just said that it is there. */
export type Present = { readonly probe: ProbeRow; readonly message: PresenceMessage; readonly at: number };

type Parts = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly refusals: Refusals;
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  readonly rosterEpoch: () => number;
  readonly keyOf: KeyOf;
  /** Whether a later process speaks as the same probe. */
  readonly session: Twins['hear'];
  readonly onPresent: (present: Present) => void;
  readonly announcements: Pick<Announcements, 'announce' | 'trust'>;
  /** New credentials for a key that speaks for the probe. */
  readonly renew: (probe: ProbeRow, key: string, isRelayed: boolean) => string;
  /** A private probe has entered the bus with credentials that let it publish to its relay alone. */
  readonly onRelayed: (probe: ProbeRow, issuedAt: number) => void;
  /** A probe has answered a trial. */
  readonly onTrialAnswer: (answer: TrialAnswerMessage) => void;
};

const signingOf = ({ keys, required }: AnnouncementTrust): NonNullable<PresenceReply['signing']> => ({ keys: [...keys], required });

const isOfOtherWire = (said: unknown): boolean => isRecord(said) && typeof said.v === 'number' && said.v !== wireVersion;

const otherWire = (name: string): string =>
  `This coordinator (${version}) reads version ${wireVersion} of the wire, and ${name} speaks another: upgrade coordinators before probes, or go back to the probe's version before. It goes on checking, and keeps what it sees on its disk.`;

/** Hears and answers presence: every coordinator does, so that any of them may be the one that is there. */
export const hearPresence = (parts: Parts): Subscription => {
  const { sql, bus, clock, log, directory, refusals, keyOf } = parts;
  // Sealing takes a fresh key pair; as long as neither key changes, the old answer is as good.
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
      // The clock and the roster are worth an answer while the database is away.
      log.warn({ err: error, probe: probe.id }, 'how far results are committed cannot be told');
      return {};
    });

  /** Those that end soon, and a private probe's that let it publish elsewhere than to its relay. Only for a key that is not on its way out. */
  const renewed = (probe: ProbeRow, { credentials, rights, can = [] }: PresenceMessage, now: number): { jwt?: string } => {
    const isPrivate = probe.organisation_id !== null;
    const isTooMuch = isPrivate && rights?.relayed === false && can.includes('relay');
    const key = credentials && isRenewalDue(credentials, now) ? credentials.key : isTooMuch ? rights.key : undefined;
    if (key === undefined || !probe.keys.some((one) => one.key === key && one.until === null)) return {};
    return { jwt: parts.renew(probe, key, isPrivate && (can.includes('relay') || probe.relayed_at !== null)) };
  };

  /** Signed as an answer to this probe; it goes nowhere but to an inbox of that probe's. */
  const answer = (message: Message, probe: string, body: object): void => {
    if (message.reply === undefined) return;
    if (isAnswerableTo(probe, message.reply)) {
      const data = Buffer.from(JSON.stringify(body));
      const [headers] = parts.announcements.announce([{ subject: subjects.presence(probe), data }]);
      message.respond(data, headers);
    } else refusals.count(probe, 'wrong_subject');
  };

  const hear = async (message: Message): Promise<void> => {
    const [, id = ''] = message.subject.split('.');
    const now = clock.now();
    const probe = await senderOf(id, message, directory, now);
    if ('refused' in probe) return refusals.count(id, probe.refused);
    const said = jsonOf(message.data);
    const trial = trialAnswerMessage.safeParse(said);
    if (trial.success && trial.data.probe === id) return parts.onTrialAnswer(trial.data);
    const read = presenceMessage.safeParse(said);
    if (!read.success && isOfOtherWire(said)) {
      answer(message, id, { refused: otherWire(probe.name) });
      return refusals.count(id, 'unknown_version');
    }
    if (!read.success || read.data.probe !== id) return refusals.count(id, 'malformed');
    const { isOlder, ends } = parts.session(probe, read.data);
    // What the network knows of a probe is what the later process says.
    if (!isOlder) parts.onPresent({ probe, message: read.data, at: now });
    const { rights } = read.data;
    if (rights?.relayed && probe.organisation_id !== null && probe.relayed_at === null) parts.onRelayed(probe, rights.issued_at);
    const reply: PresenceReply = {
      v: 1,
      now: clock.now(),
      heard_at: now,
      base_url: parts.baseUrl(),
      anchors: [...parts.anchors()],
      roster_epoch: parts.rosterEpoch(),
      committed: await committed(probe, read.data.generation),
      seal_keys: sealKeysFor(probe, read.data.seal_key),
      batches: newestBatch,
      signing: signingOf(parts.announcements.trust()),
      ...(ends ? { displaced: true } : renewed(probe, read.data, now)),
    };
    // The clock last: what was awaited in between would make it late.
    answer(message, id, { ...reply, now: clock.now() });
  };
  return bus.subscribe(subjects.allPresence, hear);
};
