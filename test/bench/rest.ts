import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { portOf } from '../support/connections.ts';
import type { Bench, Figure } from './figure.ts';
import { startGatus } from './service/gatus.ts';
import {
  addMonitors,
  createHome,
  endService,
  type Row,
  type Service,
  startService,
  sumOf,
  watch,
} from './service/local.ts';
import { createMemoryGroup, type MemoryGroup } from './service/memory-group.ts';

/**
 * What the whole service takes, with one place and with the three of `npm start`: memory, CPU and
 * wake-ups of each process with nothing to check, and CPU a check with 100 monitors a minute.
 */

const settleMs = 60_000;
const monitors = 100;
const most = {
  mbOfOne: 250,
  mb: 300,
  corePercent: 2,
  wakes: 60,
  msACheck: 10,
  coordinatorMb: 130,
  probeMb: 80,
};

export const rest: Bench = {
  name: 'rest',
  about: `what the whole service takes without a monitor, and CPU a check with ${monitors} a minute (9 min)`,
  run: async (say, { windowMs = 60_000 } = {}) => {
    const folder = await createHome();
    const ends: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
    const endLast = async (): Promise<void> => void (await ends.pop()?.());
    try {
      say('one place');
      const image = await startAtRest(join(folder, 'one'), { ANTIPODE_PLACES: '1' });
      ends.push(() => end(image));
      const one = await lookAt(image, windowMs);
      await endLast();
      say('three places');
      const local = await startAtRest(join(folder, 'three'));
      ends.push(() => end(local));
      const three = await lookAt(local, windowMs);
      say(`${monitors} monitors`);
      const target = await monitorOneTarget(local.service);
      ends.push(target.end);
      await pause(settleMs);
      const before = target.made();
      const busy = sumOf('all', await watch(local.service.launcher.pid, 2 * windowMs));
      const checks = target.made() - before;
      const each = (busy.percent * 10 * 2 * windowMs) / 1_000 / checks;
      say('Gatus');
      return [
        figureOf('one place', one.all, { mb: most.mbOfOne }),
        ...three.parts.map((part) => figureOfPart(part)),
        figureOf(`three places${three.byGroup}`, three.all, { mb: most.mb }),
        {
          what: `CPU a check, ${monitors} monitors a minute (${checks} checks)`,
          ours: `${each.toFixed(1)} ms, ${busy.mb.toFixed(0)} MB`,
          against: '–',
          ratio: null,
          goal: `≤ ${most.msACheck} ms`,
          holds: each <= most.msACheck,
        },
        ...(await gatusAtRest(folder, windowMs)),
      ];
    } finally {
      for (const last of ends.toReversed()) await last();
    }
  },
};

type AtRest = { readonly service: Service; readonly group: MemoryGroup | undefined };

async function startAtRest(
  home: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<AtRest> {
  // What a start compiles and strips it keeps; most starts find it.
  await endService(await startService(home, environment));
  const group = createMemoryGroup(`antipode-bench-${process.pid}-${basename(home)}`);
  return { service: await startService(home, environment, group), group };
}

async function end({ service, group }: AtRest): Promise<void> {
  await endService(service);
  group?.close();
}

async function lookAt({ service, group }: AtRest, windowMs: number) {
  await pause(settleMs);
  const parts = await watch(service.launcher.pid, windowMs);
  const byGroup = group ? `, ${group.usedMb().toFixed(0)} MB by control group` : '';
  return { parts, all: sumOf('all', parts), byGroup };
}

/** With one endpoint, which it looks at once an hour: it starts with none. */
async function gatusAtRest(folder: string, windowMs: number): Promise<Figure[]> {
  const gatus = await startGatus(folder, {
    url: 'http://127.0.0.1:9/',
    count: 1,
    interval_s: 3_600,
    authority: '',
  });
  if (!gatus) return [];
  await pause(settleMs);
  const all = sumOf('all', await watch(gatus.pid, windowMs));
  await gatus.close();
  return [figureOf('Gatus', all)];
}

/** So many monitors of a minute on a target of ours; how many checks it has answered. */
async function monitorOneTarget(service: Service) {
  let checks = 0;
  const target = createServer((_request, response) => {
    checks += 1;
    response.end('up');
  });
  const url = `http://127.0.0.1:${await portOf(target)}`;
  await addMonitors(service, { url, count: monitors, interval_s: 60 });
  return { made: () => checks, end: () => target.close() };
}

/** `limits`: of the whole, which has a limit of CPU and wake-ups too. */
function figureOf(
  name: string,
  { mb, percent, wakes }: Row,
  limits?: { readonly mb: number },
): Figure {
  const isSmall = limits && mb <= limits.mb && percent <= most.corePercent && wakes <= most.wakes;
  return {
    what: `at rest: ${name}`,
    ours: `${mb.toFixed(0)} MB, ${percent.toFixed(2)} % of a core, ${wakes.toFixed(0)} wake-ups a second`,
    against: '–',
    ratio: null,
    goal: limits ? `≤ ${limits.mb} MB, ≤ ${most.corePercent} %, ≤ ${most.wakes}` : '–',
    holds: isSmall ?? null,
  };
}

function figureOfPart(row: Row): Figure {
  const figure = figureOf(row.name, row);
  const mostMb = { coordinator: most.coordinatorMb, probes: 3 * most.probeMb }[row.name];
  if (mostMb === undefined) return figure;
  return { ...figure, goal: `≤ ${mostMb} MB`, holds: row.mb <= mostMb };
}
