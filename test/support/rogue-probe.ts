/** For test files: whoever holds a probe's real credentials, and uses every right that they give against everyone else. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { newId } from '../../shared/base/crypto.ts';
import { answeredSubjects, parseProbeCredentials } from '../../shared/bus/identity.ts';
import { type Bus, connectBus, type Headers } from '../../shared/bus/nats.ts';
import { parseCredentials, readJwt } from '../../shared/bus/nkeys.ts';
import { inboxOf, partitionOf, probeConsumers, subjects } from '../../shared/bus/subjects.ts';
import { type MadeProbe, testLog } from './network.ts';

/** Whom it is turned against. */
export type Targets = {
  readonly organisation: string;
  readonly monitor: string;
  readonly heartbeat: { readonly monitor: string; readonly key: string };
  /** A public probe, and a private one of the organisation. */
  readonly probes: readonly MadeProbe[];
  /** Where checks are to be led. */
  readonly bait: string;
};

export const enterAs = async (made: MadeProbe): Promise<Bus> => {
  const { nats_url: url, nats_credentials: credentials } = parseProbeCredentials(made.credentials);
  return connectBus({ url, credentials, name: `rogue ${made.name}`, inboxPrefix: inboxOf(made.id), log: testLog() });
};

const permissions = z.object({ pub: z.object({ allow: z.array(z.string()) }) });

/** Every subject that the credentials let it publish on, with what it would ask its relay for, one example of each. */
export const rightsOf = (made: MadeProbe, { monitor, heartbeat, organisation }: Targets): readonly string[] => {
  const { jwt } = parseCredentials(parseProbeCredentials(made.credentials).nats_credentials);
  const relay = subjects.relay(made.id);
  const examples = [
    subjects.result(made.continent, partitionOf(monitor), made.id),
    subjects.ping(made.continent, partitionOf(heartbeat.monitor), heartbeat.key),
    subjects.lastPings(organisation, heartbeat.monitor),
    `$JS.API.DIRECT.GET.LASTBEATS.${subjects.lastPings(organisation, heartbeat.monitor)}`,
    ...answeredSubjects({ probe: made.id, continent: made.continent, organisation: newId() }).map((right) =>
      right.replace(/>$/, '1.1.1.1.0').replaceAll('*', '1'),
    ),
    '$JS.API.STREAM.PURGE.ASSIGN',
    subjects.roster,
  ];
  return permissions.parse(readJwt(jwt).nats).pub.allow.flatMap((right) => {
    if (right === `${relay}.>`) return examples.map((subject) => `${relay}.${subject}`);
    return [right.replace(/>$/, '1.1.1.1.0').replaceAll('*', '1')];
  });
};

/** Every subject that means something to someone else. */
export const subjectsOfOthers = ({ organisation, monitor, heartbeat, probes }: Targets): readonly string[] => [
  subjects.marker(partitionOf(monitor)),
  subjects.pingKeysMarker,
  subjects.roster,
  subjects.ping('coordinator', partitionOf(heartbeat.monitor), heartbeat.key),
  subjects.lastPings(organisation, heartbeat.monitor),
  subjects.pingKey(organisation, heartbeat.key),
  '_INBOX.x',
  `$JS.ACK.RESULTS.partition-${partitionOf(monitor)}.1.1.1.1.0`,
  `$JS.ACK.BEATS.beats-${partitionOf(heartbeat.monitor)}.1.1.1.1.0`,
  '$JS.API.STREAM.PURGE.ASSIGN',
  ...probes.flatMap(({ id, continent }) => [
    subjects.assignment(continent, monitor),
    subjects.assignment(continent, newId()),
    subjects.privateAssignment(id, newId()),
    subjects.look(id),
    subjects.receipt(id),
    subjects.presence(id),
    subjects.receiverKeys(id),
    subjects.result(continent, partitionOf(monitor), id),
    `${subjects.relay(id)}.${subjects.result(continent, partitionOf(monitor), id)}`,
    `${inboxOf(id)}.x`,
  ]),
];

/** Believed, each of these would do harm: no probes at all, a check of something else, the end of a check. */
export const harmfulBodies = ({ organisation, monitor, bait }: Targets): readonly string[] => [
  JSON.stringify({ v: 1, epoch: 9e15, probes: [] }),
  JSON.stringify({
    ...{ v: 1, monitor, organisation, kind: 'https', target: bait, interval_ms: 1_000, timeout_ms: 500 },
    ...{ config: {}, sealed: null, config_version: 99, ordinal: 0, continents: null, probe: null },
  }),
  '',
];

/** What coordinators announced to it itself, which it says again everywhere. The roster is what it may always ask for. */
const overheard = (rogue: Bus, made: MadeProbe) => {
  let last: { readonly data: Uint8Array; readonly headers: Headers } | undefined;
  const inbox = `${inboxOf(made.id)}.overheard`;
  const next = `${subjects.relay(made.id)}.$JS.API.CONSUMER.MSG.NEXT.ASSIGN.${probeConsumers.roster(made.id).name}`;
  const keep = rogue.subscribe(inbox, ({ data, header }) => {
    if (header('Signature') === undefined) return;
    const named = ['Signature', 'Signed', 'Revision'].flatMap((name) => {
      const value = header(name);
      return value === undefined ? [] : [[name, value]];
    });
    last = { data, headers: Object.fromEntries(named) };
  });
  const ask = () => rogue.relay(next, Buffer.from('{"batch":1,"no_wait":true}'), { reply: inbox, headers: {} });
  return { ask, last: () => last, stop: keep.stop };
};

/** `replayed`: how often it said again what coordinators had signed. */
export type Rogue = { readonly said: () => number; readonly replayed: () => number; readonly stop: () => Promise<void> };

/** Replays, forges and floods, some hundreds of messages a second, until it is stopped. */
export const letLoose = async (made: MadeProbe, targets: Targets, { pauseMs = 50 }: { readonly pauseMs?: number } = {}): Promise<Rogue> => {
  const rogue = await enterAs(made);
  const heard = overheard(rogue, made);
  let [said, replayed, isOver] = [0, 0, false];
  const run = async (): Promise<void> => {
    while (!isOver)
      for (const subject of rightsOf(made, targets)) {
        if (isOver) return;
        if (rogue.isConnected()) heard.ask();
        const again = heard.last();
        for (const reply of rogue.isConnected() ? subjectsOfOthers(targets) : []) {
          for (const body of harmfulBodies(targets)) rogue.relay(subject, Buffer.from(body), { reply, headers: {} });
          said += harmfulBodies(targets).length;
          if (!again) continue;
          rogue.relay(subject, again.data, { reply, headers: again.headers });
          replayed += 1;
        }
        await pause(pauseMs);
      }
  };
  const running = run();
  return {
    said: () => said,
    replayed: () => replayed,
    stop: async () => {
      isOver = true;
      await running;
      heard.stop();
      await rogue.close();
    },
  };
};
