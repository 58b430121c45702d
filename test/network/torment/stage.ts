/** Everybody and everything that a run is about, put together and at work. */
import { copyFile, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { partitionOf } from '../../../shared/bus/subjects.ts';
import { createChance } from '../../simulation/story.ts';
import { createTcpProxy } from '../../support/connections.ts';
import { addHeartbeat } from '../../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network } from '../../support/network.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { letLoose } from '../../support/probes.ts';
import { freePort } from '../../support/services.ts';
import { type MortalServices, startMortalServices } from '../../support/services-run.ts';
import { type SlowApi, startSlowApi } from '../../support/slow-api.ts';
import { type Job, type Jobs, startJobs } from './checks.ts';
import { coordinatorVictim, probeVictim, serverVictim, type Victim, type Way } from './faults.ts';
import { type Kill, type PlaceOf, readMoment, type Saved } from './ledger.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import { createTruth, type Truth } from './truth.ts';
import { createWarnedPlaces, type WarnedPlaces } from './warnings.ts';

export const continents = ['Europe', 'Asia', 'North America'] as const;
export const intervalMs = 3_000;
/** Of so many monitors one is checked from an office, too. */
const mixedEvery = 3;
/** Of a job: how long it may be silent. */
export const deadlineMs = 8_000;

export type Stage = {
  readonly mortal: MortalServices;
  readonly network: Network;
  readonly truth: Truth;
  readonly warned: WarnedPlaces;
  readonly jobs: Jobs;
  readonly jobPlaces: readonly string[];
  /** Where alerts arrive; undefined where nobody is told. */
  readonly receivers: Receivers | undefined;
  readonly cast: readonly Victim[];
  readonly ways: readonly Way[];
  readonly api: SlowApi;
  readonly kills: readonly Kill[];
  readonly saved: readonly Saved[];
  readonly placeOf: PlaceOf;
  readonly partitionOf: (place: string) => number;
  /** What each coordinator says of itself. */
  readonly health: () => Promise<string>;
  readonly areWell: () => Promise<boolean>;
  /** Whether a coordinator counts a public probe as lost. */
  readonly isOneLost: () => Promise<boolean>;
  readonly close: () => Promise<void>;
};

/**
 * Asks until it is so; what fails is asked again, for that is what torment is about. @throws what
 * failed each single time.
 */
export const poll = async (isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> => {
  let fault: unknown;
  let isAnswered = false;
  for (const end = performance.now() + withinMs; performance.now() < end; await pause(500)) {
    try {
      if (await isSo()) return true;
      isAnswered = true;
    } catch (error) {
      fault = error;
    }
  }
  if (!isAnswered) throw fault;
  return false;
};

/** Logs outlive the run only if there is something to find in them. */
export const keepLogs = async (folder: string, seed: number): Promise<string> => {
  const kept = await mkdtemp(join(tmpdir(), `antipode-torment-${seed}-`));
  for (const name of await readdir(folder))
    if (name.endsWith('.log')) await copyFile(join(folder, name), join(kept, name));
  return kept;
};

export const setStage = async (
  seed: number,
  coordinators: number,
  hasChannels: boolean,
): Promise<Stage> => {
  const mortal = await startMortalServices();
  const ends: (() => Promise<unknown>)[] = [mortal.stop];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const network = await createNetwork({ services: mortal.services });
    ends.push(network.close);
    // A source of its own, so that who is struck when does not hang on what fails when.
    const truth = await createTruth(createChance(seed + 1), continents, 5, hasChannels ? 4 : 0);
    ends.push(truth.close);
    const chance = createChance(seed + 5);
    const warned = await createWarnedPlaces(createChance(seed + 4), network.sql);
    ends.push(warned.close);
    const api = await startSlowApi(network.account, () => chance.between(3_000, 5_000));
    ends.push(api.close);
    const [kills, saved]: [Kill[], Saved[]] = [[], []];
    const ways: Way[] = [];
    const layWay = async (
      name: string,
      of: Way['of'],
      to: Way['to'],
      url: string,
    ): Promise<string> => {
      const relay = await createTcpProxy(url);
      ends.push(relay.close);
      ways.push({ name, of, to, relay });
      return relay.url;
    };
    const { folder } = mortal;
    const cast: Victim[] = [
      serverVictim('nats-server', 'bus', mortal.nats),
      serverVictim('Postgres', 'database', mortal.postgres),
    ];
    const addresses: string[] = [];
    const madeProbes: MadeProbe[] = [];
    for (let index = 1; index <= coordinators; index += 1) {
      const name = `coordinator-${index}`;
      const environment = {
        ...network.environment,
        DATABASE_URL: await layWay(name, 'coordinator', 'database', network.database.url),
        NATS_URL: await layWay(name, 'coordinator', 'bus', await api.url()),
      };
      const port = await freePort();
      addresses.push(`http://127.0.0.1:${port}`);
      cast.push(coordinatorVictim(name, { environment, port, folder }));
    }
    const atCoordinators = [...addresses];
    // An office sees what its continent sees, and its word must never count as another's.
    const office = await network.makeProbe(continents[0], 'office', network.organisation);
    for (const continent of [...continents, undefined]) {
      const made =
        continent === undefined
          ? office
          : await network.makeProbe(continent, continent.replace(' ', '-'));
      madeProbes.push(made);
      const port = await freePort();
      addresses.push(`http://127.0.0.1:${port}`);
      const environment = {
        PROBE_NATS_URL: await layWay(made.name, 'probe', 'bus', network.account.url),
        PROBE_PING_PORT: String(port),
      };
      const onKilled = (kill: Kill, held: readonly Saved[]): void => {
        kills.push(kill);
        saved.push(...held);
      };
      cast.push(probeVictim(made, { folder, environment, onKilled }));
    }
    const monitors = new Map<string, string>();
    const wanted = { interval_s: intervalMs / 1_000 };
    const places = [...truth.places, ...warned.places];
    const mixed = new Set<object>(truth.places.filter((_, index) => index % mixedEvery === 0));
    for (const each of places) {
      const { place, type, target, config } = each;
      monitors.set(
        await network.addMonitor({
          ...wanted,
          type,
          target,
          config: { timeout_ms: 2_900, ...config },
          places: mixed.has(each) ? [...continents, office.id] : null,
        }),
        place,
      );
    }
    const all: Job[] = [];
    for (let index = 0; index < 4; index += 1) {
      const heartbeat = await addHeartbeat(
        network,
        { grace_s: deadlineMs / 2_000 },
        deadlineMs / 2_000,
      );
      monitors.set(heartbeat.monitor, `job ${index}`);
      all.push({ place: `job ${index}`, heartbeat });
    }
    const byPlace = new Map([...monitors].map(([monitor, place]) => [place, monitor]));
    const placeOf = (monitor: string) => monitors.get(monitor);

    const processes = cast.filter(({ kind }) => kind === 'coordinator' || kind === 'probe');
    for (const { stop } of processes) ends.push(stop);
    for (const { start } of processes) await start();
    const seenByAll = places.length * continents.length + mixed.size;
    const everybody = async () => {
      const { rows } = await readMoment(network.sql, placeOf);
      return new Set(rows.map(({ probe, place }) => `${probe} ${place}`)).size === seenByAll;
    };
    if (!(await poll(everybody, 90_000)))
      throw new Error(`the network did not come to work: see ${await keepLogs(folder, seed)}`);
    const receivers = hasChannels
      ? await startReceivers(createChance(seed + 3), network, byPlace)
      : undefined;
    if (receivers) ends.push(receivers.close);
    const jobs = startJobs(createChance(seed + 2), all, addresses);
    ends.push(jobs.stop);
    // Someone of another organisation, with the real credentials of its private probe.
    const other = await createTestOrganisation(network.sql);
    const rogue = await letLoose(await network.makeProbe('Europe', 'rogue', other.organisation), {
      organisation: network.organisation,
      monitor: [...monitors.keys()][0] ?? '',
      probes: madeProbes,
      bait: truth.places[0]?.target ?? '',
      heartbeat: { monitor: all[0]?.heartbeat.monitor ?? '', key: all[0]?.heartbeat.key ?? '' },
    });
    ends.push(rogue.stop);
    if (!(await poll(async () => rogue.replayed() > 0, 30_000)))
      throw new Error('the rogue overheard nothing that it could say again');
    const ask = (address: string) =>
      fetch(`${address}/health`, { signal: AbortSignal.timeout(5_000) }).then(
        async (answer) => ({ ok: answer.ok, text: await answer.text() }),
        (error: unknown) => ({ ok: false, text: String(error) }),
      );
    return {
      mortal,
      network,
      truth,
      warned,
      jobs,
      receivers,
      cast,
      ways,
      api,
      kills,
      saved,
      placeOf,
      close,
      jobPlaces: all.map(({ place }) => place),
      partitionOf: (place) => partitionOf(byPlace.get(place) ?? ''),
      health: async () =>
        (await Promise.all(atCoordinators.map(ask))).map(({ text }) => text).join(' '),
      isOneLost: async () =>
        (await Promise.all(atCoordinators.map(ask))).some(({ text }) =>
          text.includes('"present":false'),
        ),
      areWell: async () => (await Promise.all(atCoordinators.map(ask))).every(({ ok }) => ok),
    };
  } catch (error) {
    await close();
    throw error;
  }
};
