import { answeredSubjects, covers, isAnswerableTo } from '../../shared/bus/identity.ts';
import type { Bus, Headers, Message, Subscription } from '../../shared/bus/nats.ts';
import { partitionCount, subjects } from '../../shared/bus/subjects.ts';
import type { Refusals } from '../health/refusals.ts';
import type { Directory } from './directory.ts';
import type { ProbeRow } from './queries.ts';

/**
 * Passes on what private probes publish. The bus's server answers a request on any subject that it
 * names, so a probe that may ask the server anything can make it publish anywhere. A private probe
 * therefore asks the relay, which checks that the subject is that probe's and that the answer goes
 * to its own inbox. One of all coordinators takes each message; the server answers the probe
 * itself.
 */
type Dependencies = {
  readonly bus: Pick<Bus, 'subscribe' | 'relay'>;
  readonly directory: Pick<Directory, 'byId' | 'find'>;
  readonly refusals: Refusals;
  /** How many heartbeat keys an organisation has. */
  readonly keysOf: (organisation: string) => number;
};

export function serveRelay({ bus, directory, refusals, keysOf }: Dependencies): Subscription {
  const isWithin = createRecordLimit(keysOf);
  return bus.subscribe(
    subjects.allRelays,
    async (message) => {
      const [, id = '', ...rest] = message.subject.split('.');
      const subject = rest.join('.');
      // Known probes are found without waiting, so that a probe's messages keep their order.
      const probe = directory.byId(id) ?? (await directory.find(id));
      if (!probe) return refusals.count(id, 'unknown_probe');
      if (probe.revoked_at !== null) return refusals.count(id, 'revoked_probe');
      const { reply } = message;
      const may = mayPublish(probe, subject) && isWithin(probe, subject, message.data.length);
      if (!may || (reply !== undefined && !isAnswerableTo(id, reply)))
        return refusals.count(id, 'wrong_subject');
      bus.relay(subject, message.data, { reply, headers: headersOf(message) });
    },
    'relay',
  );
}

const maxRecordBytes = 16_384;

/** Monitors that were made or deleted a moment ago may have records, but no keys. */
const maxWithoutKeys = 100;

/**
 * Records of last pings stay for good. An organisation may have no more of them than monitors, so
 * that none fills the bus's disk for everyone.
 */
function createRecordLimit(keysOf: Dependencies['keysOf']) {
  const written = new Map<string, Set<string>>();
  return ({ organisation_id }: ProbeRow, subject: string, bytes: number): boolean => {
    if (organisation_id === null || !covers(subjects.allLastPings, subject)) return true;
    if (bytes > maxRecordBytes) return false;
    const own = written.get(organisation_id) ?? new Set();
    written.set(organisation_id, own);
    if (!own.has(subject) && own.size >= keysOf(organisation_id) + maxWithoutKeys) return false;
    own.add(subject);
    return true;
  };
}

function mayPublish({ id, continent, organisation_id }: ProbeRow, subject: string): boolean {
  return (
    isRead(subject) &&
    answeredSubjects({ probe: id, continent, organisation: organisation_id }).some((permission) =>
      covers(permission, subject),
    )
  );
}

/**
 * No one reads or removes messages of a nonexistent partition: they would fill the stream for
 * everyone.
 */
function isRead(subject: string): boolean {
  const [kind, , partition = ''] = subject.split('.');
  return (
    (kind !== 'result' && kind !== 'beat') ||
    (/^(0|[1-9]\d?)$/.test(partition) && Number(partition) < partitionCount)
  );
}

/** No other header is passed on, because it could ask something of the server. */
const passedOn = [
  'Signature',
  'Signed',
  'Nats-Msg-Id',
  'Nats-Expected-Last-Subject-Sequence',
] as const;

function headersOf({ header }: Message): Headers {
  return Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = header(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
