import { newId } from '../../shared/base/crypto.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { createNetwork } from '../support/network.ts';
import type { Services } from '../support/services-run.ts';
import { broken, fine, type PlainAnswer, type Target } from '../support/targets.ts';
import { askSteadily } from './api/steady.ts';
import type { Figure } from './figure.ts';

/**
 * How soon a page shows what goes down and comes back, while so many read it; and that none of them
 * is answered with a failure.
 */

const perSecond = 5_000;
const connections = 200;
const rounds = 3;
/**
 * From the first such answer of what is watched: so it holds the confirmation from another
 * continent, too.
 */
const maxMs = 10_000;

/** How long after its target first answered so the page says it. */
const takes = async (
  target: Target,
  answering: PlainAnswer,
  page: URL,
  words: string,
): Promise<number> => {
  const before = target.hits.length;
  target.answer(answering);
  await eventually(() => target.hits.length > before, 30_000);
  const at = target.hits[before]?.at ?? Number.NaN;
  await eventually(async () => (await (await fetch(page)).text()).includes(words), 60_000, 50);
  return Date.now() - at;
};

export const changesUnderLoad = async (
  say: (progress: string) => void,
  services: Services,
): Promise<readonly Figure[]> => {
  const network = await createNetwork({ services });
  try {
    say('a network whose page is read all the time');
    const target = await network.startTarget();
    const { url } = await network.startCoordinatorProcess({});
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 1,
      name: 'inner name',
    });
    const id = newId();
    await network.sql`insert into status_pages (id, organisation_id, name, slug) values (${id}, ${network.organisation}, 'Shop status', 'shop')`;
    await network.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${id}, ${monitor}, 'Checkout', 0)`;
    await seenFrom(network.sql, monitor, 2);
    const page = new URL('/status/shop', url);
    await eventually(
      async () => (await (await fetch(page)).text()).includes('Everything is up'),
      60_000,
    );
    const readers = await askSteadily(page, 'Accept-Encoding: br', perSecond, connections);
    const [down, up]: [number[], number[]] = [[], []];
    for (let round = 1; round <= rounds; round += 1) {
      say(`it goes down and comes back, ${round} of ${rounds}`);
      down.push(await takes(target, broken, page, 'Checkout is down'));
      up.push(await takes(target, fine, page, 'Everything is up'));
    }
    const rate = readers.stop();
    const failed = [...readers.statuses].filter(([status]) => status !== 200);
    const longest = (what: string, took: readonly number[]): Figure => ({
      what: `page read ${rate.toFixed(0)} times a second: ${what} → shown, the longest of ${took.length}`,
      ours: `${(Math.max(...took) / 1_000).toFixed(1)} s`,
      against: `${maxMs / 1_000} s`,
      ratio: Math.max(...took) / maxMs,
      goal: '≤ 1.00 ×',
      holds: Math.max(...took) <= maxMs,
    });
    return [
      longest('down', down),
      longest('up again', up),
      {
        what: 'readers meanwhile who were answered with a failure',
        ratio: null,
        goal: 'none',
        holds: failed.length === 0,
        ours:
          failed.length === 0
            ? '0'
            : failed.map(([status, count]) => `${count} × ${status}`).join(', '),
        against: `${[...readers.statuses.values()].reduce((sum, count) => sum + count, 0)} answers`,
      },
      {
        what: 'readers served while it changes',
        ours: `${rate.toFixed(0)}/s`,
        against: `${perSecond}/s asked`,
        // A machine that others use, or that has no core for the readers, asks less: that says
        // nothing of us.
        ratio: rate / perSecond,
        goal: '≥ 0.98 ×',
        holds: rate >= perSecond * 0.98 ? true : null,
      },
    ];
  } finally {
    await network.close();
  }
};
