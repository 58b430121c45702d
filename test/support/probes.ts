import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Sql } from '../../coordinator/database/connect.ts';
import type { Directory } from '../../coordinator/probes/directory.ts';
import { createLocationCheck, type LocationCheck } from '../../coordinator/probes/location.ts';
import type { ProbeRow } from '../../coordinator/probes/queries.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import {
  answeredSubjects,
  parseProbeCredentials,
  relayedSubject,
  signatureOf,
} from '../../shared/bus/identity.ts';
import { batchVersion, type TestAnswerMessage, testRunMessage } from '../../shared/bus/messages.ts';
import { type Bus, connectBus, type Headers } from '../../shared/bus/nats.ts';
import { type Key, keyFromSeed, parseCredentials, readJwt } from '../../shared/bus/nkeys.ts';
import { inboxOf, partitionOf, probeConsumers, subjects } from '../../shared/bus/subjects.ts';
import { noPhases, type Result } from '../../shared/checks/result.ts';
import { eventually } from './eventually.ts';
import { type MadeProbe, testLog } from './network.ts';
import { type ChildProgram, startChildProgram } from './processes.ts';

/**
 * For test files: speaks on the bus with a probe's own credentials and key, whatever the test wants
 * said.
 */

type Said = {
  readonly seq: number;
  readonly at: number;
  readonly outcome: 'ok' | 'fail';
} & { readonly [more: string]: unknown };

type Voice = {
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
  readonly shout: (
    subject: string,
    body: string,
    signature?: Readonly<Record<string, string>>,
  ) => Promise<void>;
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
    ...(credentials.organisation === null
      ? {}
      : { routeOf: (subject: string) => relayedSubject(made.id, subject) }),
    log: testLog(),
    firstConnectionMs,
  });
  const generation = newId();
  const shout: Voice['shout'] = async (subject, body, signature) => {
    await bus.store(subject, body, {
      headers: signature ?? signatureOf(key, Buffer.from(body)),
      timeoutMs: 10_000,
    });
  };
  return {
    bus,
    key,
    generation,
    shout,
    close: bus.close,
    say: async (monitor, results, after = null, more = {}) => {
      const partition = partitionOf(monitor);
      const full = results.map((result) => ({
        monitor,
        config_version: 1,
        took_ms: 5,
        phases: null,
        evidence: null,
        look: null,
        cause: result.outcome === 'ok' ? null : { class: 'http_status', params: { status: 503 } },
        ...result,
      }));
      const body = JSON.stringify({
        v: batchVersion,
        probe: made.id,
        generation,
        partition,
        after,
        passes: { monitors: [], numbers: [] },
        others: full,
        ...more,
      });
      // Said again where nobody answered, as a probe does: a stream may be without a leader for a
      // while.
      await eventually(() =>
        shout(subjects.result(made.continent, partition, made.id), body).then(() => true),
      );
    },
  };
};

/**
 * For test files: whoever holds a probe's real credentials, and uses every right that they give
 * against everyone else.
 */

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
  return connectBus({
    url,
    credentials,
    name: `rogue ${made.name}`,
    inboxPrefix: inboxOf(made.id),
    log: testLog(),
  });
};

const permissions = z.object({ pub: z.object({ allow: z.array(z.string()) }) });

/**
 * Every subject that the credentials let it publish on, with what it would ask its relay for, one
 * example of each.
 */
export const rightsOf = (
  made: MadeProbe,
  { monitor, heartbeat, organisation }: Targets,
): readonly string[] => {
  const { jwt } = parseCredentials(parseProbeCredentials(made.credentials).nats_credentials);
  const relay = subjects.relay(made.id);
  const examples = [
    subjects.result(made.continent, partitionOf(monitor), made.id),
    subjects.ping(made.continent, partitionOf(heartbeat.monitor), heartbeat.key),
    subjects.lastPings(organisation, heartbeat.monitor),
    `$JS.API.DIRECT.GET.LASTBEATS.${subjects.lastPings(organisation, heartbeat.monitor)}`,
    ...answeredSubjects({ probe: made.id, continent: made.continent, organisation: newId() }).map(
      (right) => right.replace(/>$/, '1.1.1.1.0').replaceAll('*', '1'),
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
export const subjectsOfOthers = ({
  organisation,
  monitor,
  heartbeat,
  probes,
}: Targets): readonly string[] => [
  subjects.marker(partitionOf(monitor)),
  subjects.pingKeysMarker,
  subjects.roster,
  subjects.testRun(newId()),
  subjects.ping('coordinator', partitionOf(heartbeat.monitor), heartbeat.key),
  subjects.lastPings(organisation, heartbeat.monitor),
  subjects.pingKey(organisation, heartbeat.key),
  '_INBOX.x',
  `$JS.ACK.RESULTS.partition-${partitionOf(monitor)}.1.1.1.1.0`,
  `$JS.ACK.BEATS.beats-${partitionOf(heartbeat.monitor)}.1.1.1.1.0`,
  '$JS.API.STREAM.PURGE.ASSIGN',
  ...probes.flatMap(({ id, continent }) => [
    ...[continent, id].flatMap((place) =>
      [0, monitor].map((item) => {
        const at = { partition: partitionOf(monitor), bucket: 0, item };
        return subjects.inBucket(place, at);
      }),
    ),
    subjects.look(id),
    subjects.receipt(id),
    subjects.presence(id),
    subjects.receiverKeys(id),
    subjects.result(continent, partitionOf(monitor), id),
    `${subjects.relay(id)}.${subjects.result(continent, partitionOf(monitor), id)}`,
    `${inboxOf(id)}.x`,
  ]),
];

/**
 * Believed, each of these would do harm: no probes at all, a check of something else, the end of a
 * check.
 */
export const harmfulBodies = ({ organisation, monitor, bait }: Targets): readonly string[] => [
  JSON.stringify({ v: 1, epoch: 9e15, probes: [] }),
  JSON.stringify({
    v: 1,
    monitor,
    organisation,
    kind: 'https',
    target: bait,
    interval_ms: 1_000,
    timeout_ms: 500,
    config: {},
    sealed: null,
    config_version: 99,
    ordinal: 0,
    continents: null,
    probe: null,
  }),
  '',
];

/**
 * What coordinators announced to it itself, which it says again everywhere. The roster is what it
 * may always ask for.
 */
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
  const ask = () =>
    rogue.relay(next, Buffer.from('{"batch":1,"no_wait":true}'), { reply: inbox, headers: {} });
  return { ask, last: () => last, stop: keep.stop };
};

/** `replayed`: how often it said again what coordinators had signed. */
type Rogue = {
  readonly said: () => number;
  readonly replayed: () => number;
  readonly stop: () => Promise<void>;
};

/** Replays, forges and floods, some hundreds of messages a second, until it is stopped. */
export const letLoose = async (
  made: MadeProbe,
  targets: Targets,
  { pauseMs = 50 }: { readonly pauseMs?: number } = {},
): Promise<Rogue> => {
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
          for (const body of harmfulBodies(targets))
            rogue.relay(subject, Buffer.from(body), { reply, headers: {} });
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

/** For test files: measuring where probes are, over ways that the test makes up. */
export type MadeUp = {
  /** The address of a probe, by its name. */
  readonly addresses: Map<string, string>;
  /**
   * How long the way from a probe to an address takes; undefined when its packets are thrown away.
   */
  way: (from: ProbeRow, address: string) => number | undefined;
  /** What was looked at, as "from address". */
  readonly asked: string[];
  isLeader: boolean;
};

type Measured = Pick<Result, 'outcome' | 'cause' | 'phases'>;

const refused = (tcp: number): Measured => ({
  outcome: 'fail',
  cause: { class: 'connection_refused', params: {} },
  phases: { ...noPhases, tcp, total: tcp },
});
const silent: Measured = {
  outcome: 'fail',
  cause: { class: 'timeout', params: {} },
  phases: { ...noPhases, tcp: 3_000, total: 3_000 },
};

export const measuring = (parts: {
  readonly sql: Sql;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly made: MadeUp;
}) => {
  const { sql, directory, clock, made } = parts;
  const answers: TestAnswerMessage[] = [];
  const rosterProbe = (row: ProbeRow) => ({
    id: row.id,
    name: row.name,
    continent: row.continent,
    organisation: row.organisation_id,
    healthy: row.revoked_at === null,
    quarantined: row.quarantined_at !== null,
  });
  const whereabouts: LocationCheck = createLocationCheck({
    sql,
    clock,
    directory,
    log: testLog(),
    bus: {
      isConnected: () => true,
      publish: (subject, data) => {
        const { trial, assignment } = testRunMessage.parse(JSON.parse(String(data)));
        const from = directory.all().find(({ id }) => subject.includes(id));
        if (!from) return;
        const address = new URL(assignment.target).hostname.replace(/^\[|\]$/g, '');
        made.asked.push(`${from.name} ${address}`);
        const ms = made.way(from, address);
        const result = {
          at: clock.now(),
          took_ms: ms ?? 3_000,
          evidence: null,
          ...(ms === undefined ? silent : refused(ms)),
        };
        answers.push({ v: 1, probe: from.id, trial, result });
      },
    },
    roster: () => ({ epoch: 1, probes: directory.all().map(rosterProbe) }),
    isLeader: () => made.isLeader,
    addressOf: ({ name }) => made.addresses.get(name),
  });
  return {
    whereabouts,
    /** One round, from asking to judging. */
    round: async (): Promise<void> => {
      await whereabouts.tick();
      for (const answer of answers.splice(0)) whereabouts.answered(answer);
      await whereabouts.tick();
    },
  };
};

/**
 * For test files: probes as processes, to be killed, or started where there is no network at all.
 */

type Options = {
  /**
   * In a network namespace of its own that has nothing in it: every connection fails, to targets,
   * anchors and bus alike.
   */
  readonly withoutNetwork?: boolean;
  /** In this one. */
  readonly netns?: string;
  /** There, on a machine of its own: the file has what its kernel would say. */
  readonly machine?: string;
  readonly environment?: Readonly<Record<string, string>>;
};

const main = join(import.meta.dirname, '../../probe/main.ts');

/**
 * Whether this machine lets us make network namespaces. Says loudly when it does not, because then
 * something is not tested.
 */
export const canCutNetwork = (): boolean => {
  const can = process.platform === 'linux' && spawnSync('unshare', ['--net', 'true']).status === 0;
  if (!can)
    process.stderr.write(
      'SKIPPED: a probe without network needs the right to make network namespaces (root, on Linux)\n',
    );
  return can;
};

const inside = ({ withoutNetwork = false, netns, machine }: Options): readonly string[] => {
  const asMachine = `mount --bind ${machine} /proc/sys/kernel/random/boot_id && exec "$0" "$@"`;
  if (netns !== undefined)
    return [
      ...['ip', 'netns', 'exec', netns],
      ...(machine === undefined ? [] : ['sh', '-c', asMachine]),
    ];
  return withoutNetwork ? ['unshare', '--net'] : [];
};

/** Settles when it is checking. */
export const startProbeProcess = (
  made: MadeProbe,
  options: Options = {},
): Promise<ChildProgram> => {
  const [first = process.execPath, ...rest] = [...inside(options), process.execPath, main];
  return startChildProgram(
    [first, ...rest],
    {
      PROBE_CREDENTIALS: made.credentials,
      PROBE_DATA_DIR: made.folder,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      LOG_LEVEL: 'info',
      ...options.environment,
    },
    (output) => output.includes('"msg":"the probe has started"'),
  );
};
