import { Session } from 'node:inspector/promises';
import { relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { insertChannel } from '../../coordinator/notifications/queries.ts';
import { channelSecretsOf, createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { newId } from '../../shared/base/crypto.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { testSecretKey } from '../support/people.ts';
import { openReceiver, says } from '../support/receivers.ts';
import { startServices } from '../support/services-run.ts';
import { broken } from '../support/targets.ts';
import type { Bench, Figure } from './figure.ts';

/**
 * How many files somebody goes through who follows a failing check, from the probe that sees it to
 * the message that somebody gets. A file counts as failing when a function of it runs from the
 * first failing check on, and never ran before: what starts, what goes on by itself (presence,
 * leases, tickers, the lines to database and bus), what a new monitor takes and what every check
 * goes through, the first of a monitor included, is known before. The last figure counts all but
 * what runs in a house without monitors. What is counted is functions that ran, by V8's own count,
 * of all parts in one process.
 */

const most = { confirmed: 40, told: 50 };
const besides = 8;
const root = resolve(import.meta.dirname, '../..');
const sides = /^(coordinator|probe|shared)\//;

/**
 * The functions of each file that ran, by their place in it. What a file does when it is loaded is
 * no function.
 */
type Ran = ReadonlyMap<string, ReadonlySet<number>>;

type FunctionCount = { readonly take: () => Promise<Ran>; readonly end: () => void };

const countFunctions = async (): Promise<FunctionCount> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return {
    /** What ran since this was asked last. */
    take: async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const ran = new Map<string, Set<number>>();
      for (const { url, functions } of result) {
        const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
        if (!sides.test(file)) continue;
        for (const { ranges } of functions) {
          const [whole] = ranges;
          if (!whole || whole.count === 0 || whole.startOffset === 0) continue;
          ran.set(file, (ran.get(file) ?? new Set()).add(whole.startOffset));
        }
      }
      return ran;
    },
    end: () => session.disconnect(),
  };
};

/** The files with a function that ran in one of the first and in none of the others. */
const filesOf = (some: readonly Ran[], others: readonly Ran[]): readonly string[] => {
  const isNew = (file: string, one: number): boolean =>
    others.every((other) => !other.get(file)?.has(one));
  const found = some.flatMap((ran) =>
    [...ran].flatMap(([file, functions]) =>
      [...functions].some((one) => isNew(file, one)) ? [file] : [],
    ),
  );
  return [...new Set(found)].toSorted();
};

const addChannel = async ({ sql, organisation }: Network, url: string): Promise<void> => {
  const id = newId();
  const secret = JSON.stringify({ secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
  await sql.begin(async (transaction) => {
    await insertChannel(transaction, {
      id,
      organisation,
      user: null,
      kind: 'webhook',
      name: 'Receiver',
      config: { url },
      host: null,
      enabled: true,
      secrets: await createSecretsAtRest(testSecretKey).seal(
        transaction,
        secret,
        channelSecretsOf(id),
      ),
      covers: 'all',
      monitors: [],
      groups: [],
      delay_s: 0,
      reminder_s: null,
      hours: null,
      warnings: true,
      verified_at: Date.now(),
    });
  });
};

const figureOf = (what: string, files: readonly string[], maxFiles: number): Figure => ({
  what: `files that a failing check goes through and a passing one does not, ${what}`,
  ours: `${files.length} files`,
  against: `${maxFiles} files`,
  ratio: files.length / maxFiles,
  goal: '≤ 1.00 ×',
  holds: files.length <= maxFiles,
});

const walk = async (
  network: Network,
  say: (progress: string) => void,
  windowMs: number,
): Promise<Figure[]> => {
  const receiver = await openReceiver();
  receiver.answer(says(204));
  const functions = await countFunctions();
  try {
    await network.startCoordinator();
    await network.addProbes('Asia', 'Europe', 'North America');
    await addChannel(network, `${receiver.url}/alerts`);
    const [target, steady] = [await network.startTarget(), await network.startTarget()];
    say('without monitors');
    await pause(windowMs);
    const idle = await functions.take();
    say('checks that pass');
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 2,
      name: 'Checkout',
      config: { alert_after_s: 3 }, // So that no part of the message comes with the confirmation.
    });
    // Others beside it, because results of one alone come together only by chance.
    for (let count = 0; count < besides; count += 1)
      await network.addMonitor({ target: steady.url(), interval_s: 2, name: `Steady ${count}` });
    await seenFrom(network.sql, monitor, 3);
    await pause(windowMs);
    const passing = await functions.take();
    say('checks that fail');
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    const confirming = await functions.take();
    await eventually(() => receiver.got.length > 0);
    await pause(500); // Until what the message was answered is written.
    const notifying = await functions.take();
    const known = [idle, passing];
    const all = filesOf([confirming, notifying], known);
    for (const file of all) say(file);
    return [
      figureOf('until the outage is confirmed', filesOf([confirming], known), most.confirmed),
      figureOf('until the message is out', all, most.told),
      {
        what: 'files that it goes through with those of a passing one, until the message is out',
        ours: `${filesOf([confirming, notifying], [idle]).length} files`,
        against: '–',
        ratio: null,
        goal: 'few',
        holds: null,
      },
    ];
  } finally {
    functions.end();
    await receiver.close();
  }
};

export const theWalk: Bench = {
  name: 'walk',
  about: 'the files that a failing check goes through, from the probe to the message (3 min)',
  run: async (say, { windowMs = 70_000 } = {}) => {
    const { services, stop } = await startServices();
    const network = await createNetwork({ services });
    try {
      return await walk(network, say, windowMs);
    } finally {
      await network.close();
      await stop();
    }
  },
};
