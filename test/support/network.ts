import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type App, createApp, type Overrides } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { connect, type Sql, type Transaction } from '../../coordinator/database/connect.ts';
import { enqueue } from '../../coordinator/database/outbox.ts';
import type { Timing } from '../../coordinator/engine/timing.ts';
import { insertMonitors } from '../../coordinator/monitors/queries.ts';
import { createProbeIdentities } from '../../coordinator/probes/identities.ts';
import { createProbe, type ProbeApp } from '../../probe/app.ts';
import { readConfig as readProbeConfig } from '../../probe/config.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog, type Log } from '../../shared/base/log.ts';
import { type Clock, systemClock } from '../../shared/base/time.ts';
import { announcementKeys, createAnnounce } from '../../shared/bus/announcement.ts';
import { parseProbeCredentials, printProbeCredentials } from '../../shared/bus/identity.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { keyFromSeed } from '../../shared/bus/nkeys.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { createTcpProxy, type TcpProxy, type TcpProxyOptions } from './connections.ts';
import { eventually } from './eventually.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from './people.ts';
import { type ChildProgram, startChildProgram } from './processes.ts';
import {
  createAccount,
  createDatabase,
  deleteStreams,
  environmentOf,
  forgetAccount,
  freePort,
  servicesHere,
  type TestAccount,
  type TestDatabase,
} from './services.ts';
import type { Services } from './services-run.ts';
import { startTarget, type Target, type TargetOptions } from './targets.ts';

/** For test files: coordinators as processes. */

export type CoordinatorProcess = ChildProgram & {
  readonly url: string;
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>;
  /** SIGKILL, also to one that is frozen. */
  readonly close: () => Promise<void>;
};

const main = join(import.meta.dirname, '../../coordinator/main.ts');

const wellShape = z.object({ parts: z.record(z.string(), z.unknown()) });

/**
 * Whether all is well with the coordinator itself, of whatever version, also while no probe is
 * there.
 */
export const isWell = async (url: string): Promise<boolean> => {
  const { parts } = wellShape.parse(await (await fetch(`${url}/health`)).json());
  return Object.values(parts).every((part) => part !== false);
};

/** Settles when it answers that all is well with itself. */
export const startCoordinatorProcess = async (
  environment: Readonly<Record<string, string>>,
): Promise<CoordinatorProcess> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = await startChildProgram(
    [process.execPath, main],
    { ...environment, PORT: String(port), LOG_LEVEL: 'info' },
    () => isWell(url),
  );
  const { signal, exited } = program;
  return {
    ...program,
    url,
    stop: () => {
      signal('SIGTERM');
      return exited;
    },
    close: async () => {
      signal('SIGKILL');
      await exited;
    },
  };
};

/**
 * For test files: a whole network, real in every part. Coordinators and probes run inside the
 * test's process, on a database and a bus account of their own.
 */

export type MadeProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly credentials: string;
  readonly folder: string;
};

export type Wanted = {
  readonly target: string;
  readonly type?: Kind;
  readonly interval_s?: number;
  readonly config?: Config;
  /** As its config resolves to; null without chosen places. */
  readonly places?: readonly string[] | null;
  readonly name?: string;
};

type MonitorChanges = {
  readonly target?: string;
  readonly interval_s?: number;
  readonly config?: Config;
};

/**
 * `url`: where the bus is for this probe, if not where everybody has it. `allow`: what its host allows, if not loopback. `environment`: what
 * it has besides. `isAlone`: it is not waited for until it has reached the bus.
 */
type ProbeMore = {
  readonly ear?: boolean;
  readonly url?: string;
  readonly allow?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly isAlone?: boolean;
  /** How long it judges no heartbeat after the bus came back, if not for a short while. */
  readonly pingSettlingMs?: number;
  /** Its host's clock, which it corrects as often as in production. */
  readonly host?: Clock;
};

export type Network = {
  readonly sql: Sql;
  readonly database: TestDatabase;
  readonly account: TestAccount;
  /** The organisation that monitors belong to, with its people and their tokens. */
  readonly house: TestOrganisation;
  readonly organisation: string;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string>>;
  readonly startCoordinator: (overrides?: Overrides) => Promise<App & { readonly url: string }>;
  /** One that can be killed and frozen. `more`: what its environment has besides. */
  readonly startCoordinatorProcess: (
    more?: Readonly<Record<string, string>>,
  ) => Promise<CoordinatorProcess>;
  readonly startTarget: (options?: TargetOptions) => Promise<Target>;
  /** A way there that can be cut, beside the usual one; it is whole again when the network ends. */
  readonly startRelay: (to?: 'bus' | 'database', options?: TcpProxyOptions) => Promise<TcpProxy>;
  /** Everybody's way to the bus, where `relayed` asked for it. */
  readonly relay: TcpProxy;
  /** A coordinator's connection to the bus, past all relays. `announces`: it may speak as one. */
  readonly joinBus: (announces?: boolean) => Promise<Bus>;
  /** Registered, but not running yet. */
  readonly makeProbe: (
    continent: Continent,
    name?: string,
    organisation?: string | null,
    /** The private place that it joins. */
    place?: string,
  ) => Promise<MadeProbe>;
  readonly revokeProbe: (id: string) => Promise<void>;
  /** The same probe with new credentials. */
  readonly rotateProbe: (made: MadeProbe) => Promise<MadeProbe>;
  readonly startProbe: (made: MadeProbe, more?: ProbeMore) => Promise<ProbeApp>;
  /**
   * Both; settles when every coordinator that runs counts on it, so that what is made next is for
   * it, too.
   */
  readonly addProbe: (
    continent: Continent,
    name?: string,
    more?: ProbeMore,
  ) => Promise<ProbeApp & { readonly made: MadeProbe }>;
  /** One in each. */
  readonly addProbes: (...continents: readonly Continent[]) => Promise<void>;
  readonly addMonitor: (wanted: Wanted) => Promise<string>;
  readonly editMonitor: (id: string, changes: MonitorChanges) => Promise<void>;
  readonly pauseMonitor: (id: string, paused: boolean) => Promise<void>;
  readonly deleteMonitor: (id: string) => Promise<void>;
  /** All that was started here ends: those who check first, then what they check. */
  readonly close: () => Promise<void>;
};

/** What everyone in the networks of tests verifies announcements with. */
export const signingKeysOfTests = announcementKeys([testSecretKey]).map(({ id }) => id);

/** Signs as the coordinators of tests do: for what a test says in their name. */
const announceAsCoordinator = createAnnounce(announcementKeys([testSecretKey]), systemClock.now);

/** Short patience, so that tests do not wait for what takes its time in production. */
const quick: Partial<Timing> = { networkTickMs: 100, refreshMs: 1_000, alertTickMs: 100 };

/** Where the targets of tests are. */
const loopback = ['127.0.0.0/8', '::1/128'];

/** With a server of 2.9 a probe needs its time to notice that everything comes anew. */
export const quickResync = (): Partial<Timing> => {
  const [major = 0, minor = 0] = servicesHere().nats.version;
  return major > 2 || minor >= 10 ? { resyncMs: 1_000 } : {};
};

const healthShape = z.object({
  parts: z.object({ probes: z.array(z.object({ name: z.string(), present: z.boolean() })) }),
});

/** Whether the coordinator at this address has the probe in its roster, and well. */
const countsOn = async (url: string, name: string): Promise<boolean> => {
  const { parts } = healthShape.parse(await (await fetch(`${url}/health`)).json());
  return parts.probes.some((probe) => probe.name === name && probe.present);
};

export const testLog = (): Log =>
  createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });

type NetworkOptions = {
  /** Everybody but the tests themselves reaches the bus through such a relay. */
  readonly relayed?: TcpProxyOptions;
  /** Servers other than those of the run. */
  readonly services?: Services;
  /** How probes reach the coordinators by HTTP, if not where those listen. */
  readonly baseUrl?: string;
  /** What coordinators have in their environment besides. */
  readonly settings?: Readonly<Record<string, string>>;
};

export const createNetwork = async ({
  relayed,
  services = servicesHere(),
  baseUrl,
  settings = {},
}: NetworkOptions = {}): Promise<Network> => {
  const database = await createDatabase(services);
  const own = await createAccount(services);
  const relays: TcpProxy[] = [];
  const startRelay: Network['startRelay'] = async (to = 'bus', options = {}) => {
    const relay = await createTcpProxy(to === 'bus' ? own.url : database.url, options);
    relays.push(relay);
    return relay;
  };
  const everybodys = relayed && (await startRelay('bus', relayed));
  const account = everybodys ? { ...own, url: everybodys.url } : own;
  const sql = connect(database.url, { name: 'test', connections: 4 });
  const log = testLog();
  const folder = await mkdtemp(join(tmpdir(), 'antipode-network-'));
  const house = await createTestOrganisation(sql);
  const { organisation } = house;
  const identities = createProbeIdentities({
    account: keyFromSeed(account.accountSeed),
    clock: systemClock,
    natsUrl: () => account.url,
    secretKeys: [testSecretKey],
  });
  const environment = {
    ...environmentOf(database, account),
    ...services.nats.settings,
    SECRET_KEY: testSecretKey,
    PORT: '0',
    LOG_LEVEL: 'silent',
    // The bus and the database are on the first address, too, so that it is named alone.
    ALERT_ALLOW_CIDRS: '127.0.0.0/8,127.0.0.1,::1',
    DATA_DIR: join(folder, 'coordinator'),
    ...(baseUrl === undefined ? {} : { BASE_URL: baseUrl }),
    ...settings,
  };
  const near = (continent: Continent, credentials: string): string => {
    const nats_url = relayed ? undefined : services.nats.near?.[continent];
    return nats_url === undefined
      ? credentials
      : printProbeCredentials({ ...parseProbeCredentials(credentials), nats_url });
  };
  const targets: Target[] = [];
  const buses: Bus[] = [];
  const running = new Set<{ readonly close: () => Promise<void> }>();
  const coordinators = new Set<string>();
  const keep = <Part extends { readonly close: () => Promise<void> }>(part: Part): Part => {
    const close = async () => {
      if (running.delete(kept)) await part.close();
    };
    const kept = { ...part, close };
    running.add(kept);
    return kept;
  };

  const makeProbe: Network['makeProbe'] = async (
    continent,
    name = `${continent} ${newId().slice(-4)}`,
    of = null,
    place?: string,
  ) => {
    const made = await sql.begin(async (transaction) => {
      const probe = await identities.createProbe(transaction, {
        name,
        continent,
        organisation: of,
        ...(place === undefined ? {} : { place }),
      });
      // What its host allows is known from its first presence on, which some of these never send.
      await transaction`update probes set allowed_cidrs = ${loopback} where id = ${probe.id}`;
      return probe;
    });
    return {
      ...made,
      credentials: near(continent, made.credentials),
      name,
      continent,
      folder: join(folder, made.id),
    };
  };
  const startProbe: Network['startProbe'] = async (made, more = {}) => {
    const { ear = false, url, allow = loopback.join(), pingSettlingMs = 3_000 } = more;
    const config = readProbeConfig({
      PROBE_CREDENTIALS: made.credentials,
      PROBE_DATA_DIR: made.folder,
      PROBE_ALLOW_CIDRS: allow,
      ...(ear ? { PROBE_PING_PORT: '0' } : {}),
      ...(url === undefined ? {} : { PROBE_NATS_URL: url }),
      LOG_LEVEL: 'silent',
      ALERT_ALLOW_CIDRS: '127.0.0.0/8,::1',
      ...more.environment,
    });
    const quickly = { pingSettlingMs, presenceMs: 1_000, handOverMs: 0 };
    const own = more.host === undefined ? quickly : { host: more.host };
    const probe = await createProbe(config, { log, ...own });
    if (!more.isAlone) await probe.onBus;
    return keep(probe);
  };

  const addProbe: Network['addProbe'] = async (continent, name, more = {}) => {
    const made = await makeProbe(continent, name);
    const probe = await startProbe(made, more);
    await eventually(async () =>
      (await Promise.all([...coordinators].map((url) => countsOn(url, made.name)))).every(Boolean),
    );
    return { ...probe, made };
  };

  const change = async (
    id: string,
    changed: 'edited' | 'paused' | 'resumed' | 'deleted',
    what_is_checked_changed: boolean,
    write: (tx: Transaction) => Promise<unknown>,
  ) =>
    sql.begin(async (transaction) => {
      const [row] = await transaction<
        { partition: number }[]
      >`select partition from monitors where id = ${id}`;
      await write(transaction);
      await enqueue(transaction, {
        topic: 'monitor',
        payload: { monitor: id, change: changed, what_is_checked_changed },
        partition: row?.partition ?? 0,
        organisation,
      });
    });

  return {
    sql,
    database,
    account,
    house,
    organisation,
    log,
    environment,
    makeProbe,
    startProbe,
    startCoordinator: async (overrides = {}) => {
      const app = createApp(readConfig(environment), {
        log,
        ...overrides,
        timing: { ...quick, ...overrides.timing },
      });
      const { url } = await app.start();
      coordinators.add(url);
      const close = async () => {
        coordinators.delete(url);
        await app.close();
      };
      return { ...keep({ ...app, close }), url };
    },
    startCoordinatorProcess: async (more = {}) => {
      const started = await startCoordinatorProcess({ ...environment, ...more });
      coordinators.add(started.url);
      void started.exited.then(() => coordinators.delete(started.url));
      return keep(started);
    },
    startTarget: async (options) => {
      const target = await startTarget(options);
      targets.push(target);
      return target;
    },
    startRelay,
    get relay() {
      if (!everybodys) throw new Error('nothing relays the bus of this network');
      return everybodys;
    },
    joinBus: async (announces = false) => {
      const { url, coordinatorCredentials: credentials } = own;
      const announce = announces ? { announce: announceAsCoordinator } : {};
      const bus = await connectBus({ url, credentials, name: 'test', log, ...announce });
      buses.push(bus);
      return bus;
    },
    revokeProbe: (id) => sql.begin((transaction) => identities.revokeProbe(transaction, id)),
    rotateProbe: async (made) => {
      const { credentials } = await sql.begin((transaction) =>
        identities.rotateProbe(transaction, made.id),
      );
      return { ...made, credentials: near(made.continent, credentials) };
    },
    addProbe,
    addProbes: async (...continents) => {
      for (const continent of continents) await addProbe(continent);
    },
    addMonitor: async ({
      target,
      type = 'https',
      interval_s = 10,
      config = {},
      places = null,
      name = 'a monitor',
    }) => {
      const id = newId();
      const monitor = {
        organisation,
        name,
        target,
        interval_s,
        config,
        places,
        kind: type,
        enabled: true,
        secrets: {},
        group: null,
        affects_group_status: true,
        external_id: null,
        tags: [],
        runbook: null,
        depends_on_monitors: [],
        depends_on_groups: [],
        config_version: 1,
      };
      await sql.begin(async (transaction) => {
        await insertMonitors(transaction, organisation, [
          { id, partition: partitionOf(id), monitor, secrets: null },
        ]);
        const payload = { monitor: id, change: 'created', what_is_checked_changed: true } as const;
        await enqueue(transaction, {
          topic: 'monitor',
          payload,
          partition: partitionOf(id),
          organisation,
        });
      });
      return id;
    },
    editMonitor: async (id, { target, interval_s, config }) => {
      await change(
        id,
        'edited',
        true,
        (transaction) => transaction`update monitors set config_version = config_version + 1
        ${target === undefined ? transaction`` : transaction`, target = ${target}`}
        ${interval_s === undefined ? transaction`` : transaction`, interval_s = ${interval_s}`}
        ${config === undefined ? transaction`` : transaction`, config = ${JSON.stringify(config)}::text::jsonb`}
        where id = ${id}`,
      );
    },
    pauseMonitor: async (id, paused) => {
      await change(
        id,
        paused ? 'paused' : 'resumed',
        false,
        (transaction) => transaction`
        update monitors set enabled = ${!paused}, paused_at = ${paused ? transaction`now()` : null} where id = ${id}`,
      );
    },
    deleteMonitor: async (id) => {
      await change(id, 'deleted', false, async (transaction) => {
        await transaction`insert into forgotten_monitors (monitor_key, monitor_id) select key, id from monitors where id = ${id}`;
        await transaction`delete from monitors where id = ${id}`;
      });
    },
    close: async () => {
      for (const relay of relays) relay.heal();
      for (const part of [...running].toReversed()) await part.close();
      for (const bus of buses) await bus.close();
      for (const each of [...targets, ...relays]) await each.close();
      // Without a limit it waits for ever where a server was killed while a connection was being
      // made.
      await sql.end({ timeout: 5 });
      await database.drop();
      if (services.nats.settings) await deleteStreams(own);
      forgetAccount(own);
      await rm(folder, { recursive: true, force: true });
    },
  };
};
