import { setTimeout as pause } from 'node:timers/promises';
import { isRecord } from '../../shared/base/json.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { startServices } from '../support/services-run.ts';
import { broken, fine, startRawTarget } from '../support/targets.ts';
import { type Bench, type Figure, median } from './figure.ts';

/**
 * From the first failing request to the confirmation in an answer of the API, with a database that
 * is so far away: so many round trips to it one after the other, and half a second for all else.
 * What the network adds is what an operator chooses; what we make of it is ours.
 */

const roundTrips = [0, 30, 250] as const;
const most = { ms: 500, roundTrips: 6 };
const rounds = 3;
/** So often it is asked, whether or not the answer before has come. */
const askEveryMs = 20;

/** What is checked, and can be made to fail. */
type Breakable = {
  readonly target: string;
  readonly config: Config;
  readonly hits: readonly { readonly at: number }[];
  readonly setBroken: (isBroken: boolean) => void;
  readonly close: () => Promise<void>;
};

const targets: Readonly<Record<'https' | 'tcp', (network: Network) => Promise<Breakable>>> = {
  https: async (network) => {
    const target = await network.startTarget();
    return {
      target: target.url(`/${target.port}`),
      config: {},
      hits: target.hits,
      setBroken: (isBroken) => target.answer(isBroken ? broken : fine),
      close: target.close,
    };
  },
  tcp: async () => {
    const hits: { at: number }[] = [];
    let words = '220 ready';
    const { port, close } = await startRawTarget((socket) => {
      hits.push({ at: Date.now() });
      socket.on('data', () => undefined).write(`${words}\r\n`);
    });
    return {
      target: `127.0.0.1:${port}`,
      config: { banner: 'smtp' },
      hits,
      setBroken: (isBroken) => {
        words = isBroken ? '421 busy' : '220 ready';
      },
      close,
    };
  },
};

type Asked = { readonly isConfirmed: boolean; readonly open: number };

/** What the API says of incidents now. */
const ask = async (url: string, token: string): Promise<Asked> => {
  const answer = await fetch(`${url}/api/v1/incidents?state=open`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const body: unknown = await answer.json();
  const items = isRecord(body) && Array.isArray(body.items) ? body.items : undefined;
  if (!items) throw new Error(`the API answered ${answer.status}: ${JSON.stringify(body)}`);
  return {
    isConfirmed: items.some((item) => isRecord(item) && item.confirmed_at !== null),
    open: items.length,
  };
};

/**
 * Breaks the target and says how long after its first failing answer the API tells that it is
 * confirmed.
 */
const detect = async (target: Breakable, url: string, token: string): Promise<number> => {
  const before = target.hits.length;
  target.setBroken(true);
  await eventually(() => target.hits.length > before, 20_000);
  const failedAt = target.hits[before]?.at ?? Number.NaN;
  const confirmed = Promise.withResolvers<number>();
  const timer = setInterval(() => {
    ask(url, token).then(({ isConfirmed }) => {
      if (isConfirmed) confirmed.resolve(Date.now() - failedAt);
    }, confirmed.reject);
  }, askEveryMs);
  try {
    return await Promise.race([
      confirmed.promise,
      pause(60_000).then(() => Promise.reject(new Error('it was never confirmed'))),
    ]);
  } finally {
    clearInterval(timer);
    target.setBroken(false);
    await eventually(async () => (await ask(url, token)).open === 0, 60_000);
  }
};

const figureOf = (kind: string, roundTripMs: number, took: readonly number[]): Figure => {
  const limit = most.ms + most.roundTrips * roundTripMs;
  const ours = median(took);
  return {
    what: `first failure → confirmation in the API, ${kind}, database ${roundTripMs} ms away`,
    ours: `${ours.toFixed(0)} ms (${took.map((ms) => ms.toFixed(0)).join(', ')})`,
    against: `${most.ms} ms + ${most.roundTrips} round trips = ${limit} ms`,
    ratio: ours / limit,
    goal: '≤ 1.00 ×',
    holds: ours <= limit,
  };
};

const measure = async (
  network: Network,
  relay: TcpProxy,
  kind: keyof typeof targets,
  roundTripMs: number,
  say: (progress: string) => void,
): Promise<Figure> => {
  // To begin takes hundreds of round trips, and is not what is measured.
  relay.delay(0);
  const target = await targets[kind](network);
  const token = network.house.owner.readWrite;
  say(`${kind}, ${roundTripMs} ms: a coordinator`);
  const coordinator = await network.startCoordinatorProcess({
    DATABASE_URL: relay.through(network.database.url),
    RATE_LIMIT_PER_MINUTE: '1000000',
  });
  relay.delay(roundTripMs / 2);
  const took: number[] = [];
  try {
    // The first round prepares statements and compiles code, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      say(`${kind}, ${roundTripMs} ms: round ${round} of ${rounds}`);
      // Of its own: a monitor gets only so many looks beside its turns (rule 13), and an outage
      // every few seconds uses them up.
      const monitor = await network.addMonitor({
        type: kind,
        target: target.target,
        config: target.config,
        interval_s: 2,
      });
      const before = target.hits.length;
      await eventually(() => target.hits.length > before + 4, 60_000);
      const ms = await detect(target, coordinator.url, token);
      if (round > 0) took.push(ms);
      await network.deleteMonitor(monitor);
    }
  } finally {
    await coordinator.close();
    await target.close();
  }
  return figureOf(kind, roundTripMs, took);
};

export const detection: Bench = {
  name: 'detection',
  about:
    'from the first failing request to the confirmation in the API, with a database 0, 30 and 250 ms away (2 min)',
  run: async (say) => {
    const { services, stop } = await startServices();
    const network = await createNetwork({ services });
    const relay = await createTcpProxy(network.database.url);
    try {
      for (const continent of ['Asia', 'Europe', 'Africa'] as const)
        await network.startProbe(await network.makeProbe(continent));
      const figures: Figure[] = [];
      for (const roundTripMs of roundTrips)
        figures.push(await measure(network, relay, 'https', roundTripMs, say));
      figures.push(await measure(network, relay, 'tcp', 0, say));
      return figures;
    } finally {
      await network.close();
      await relay.close();
      await stop();
    }
  },
};
