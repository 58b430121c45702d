import { join } from 'node:path';
import { type Bench, type Figure, median } from './figure.ts';
import { openssl } from './https.ts';
import { cores, cpuOf, start, stop } from './processes.ts';
import { type Cost, costOfCheck } from './scale/measure.ts';
import { startRig } from './scale/rig.ts';

/**
 * The whole path of an https check: schedule, check, bus, coordinator, database. CPU of all
 * processes summed, against node itself at the same pace in the same windows (a process that is
 * woken for each check finds its caches cold, whoever it is), and in handshakes of `openssl s_time
 * -new` at full speed. At two rates, because the fewer the checks the more of each is the waking
 * and the being there: the facts' limit comes from a process that is never at rest.
 */

const rates = [100, 400] as const;
const interval_s = 10;
const continents = ['Asia', 'Europe'] as const;
const rounds = 3;
const usualWindowMs = 12_000;
/**
 * Compilers and queues settle before anything counts: at fifty checks a second V8 compiles for a
 * minute and a half, and no probe is so young for long.
 */
const settlingMs = 90_000;
/**
 * The facts' whole path (2.0 × the limit) over their best node (1.43 ×), and over `openssl s_time`
 * (1.60 ×).
 */
const most = { ofNode: 1.4, ofHandshakes: 1.25 };

type Measured = {
  readonly costs: readonly Cost[];
  readonly alone: number;
  readonly handshake: number | undefined;
};

const measure = async (
  perSecond: number,
  windowMs: number,
  say: (progress: string) => void,
): Promise<Measured> => {
  const rig = await startRig(
    [{ count: perSecond * interval_s, interval_s, target: 'https' }],
    [...continents],
    say,
  );
  // As often as one of the probes.
  const pace = perSecond / continents.length;
  const naked = start(
    cores.subject,
    [
      process.execPath,
      join(import.meta.dirname, 'path/plain-node.ts'),
      `${rig.folder}/ca.pem`,
      String(rig.ports.https),
      String(pace),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  try {
    const { pid } = naked;
    if (pid === undefined) throw new Error('node alone did not start');
    const shake = openssl(rig.folder);
    const costs: Cost[] = [];
    const nakedCosts: number[] = [];
    const handshakes: number[] = [];
    say('settling');
    await costOfCheck(rig, Math.min(settlingMs, 7.5 * windowMs));
    for (let round = 1; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}`);
      const [cpu, began] = [cpuOf(pid), performance.now()];
      costs.push(await costOfCheck(rig, windowMs));
      nakedCosts.push((cpuOf(pid) - cpu) / (((performance.now() - began) / 1_000) * pace));
      if (shake) handshakes.push(await shake(rig.ports.https));
    }
    return { costs, alone: median(nakedCosts), handshake: shake ? median(handshakes) : undefined };
  } finally {
    await stop(naked);
    await rig.close();
  }
};

const ms = (value: number): string => `${value.toFixed(3)} ms`;

const figuresOf = (perSecond: number, { costs, alone, handshake }: Measured): Figure[] => {
  const of = (part: keyof Cost): number => median(costs.map((cost) => cost[part]));
  const figure = (
    what: string,
    ours: number,
    name: string,
    other: number | undefined,
    limit?: number,
  ): Figure => ({
    what,
    ours: ms(ours),
    against: other === undefined ? `${name} is not on this machine` : `${name} ${ms(other)}`,
    ratio: other === undefined ? null : ours / other,
    goal: limit === undefined ? '–' : `≤ ${limit.toFixed(2)} ×`,
    holds: limit === undefined || other === undefined ? null : ours / other <= limit,
  });
  const [node, openssl] = ['node alone as often', 'openssl s_time -new'];
  const what = `an https check, ${perSecond} a second, all processes`;
  return [
    figure(what, of('all'), node, alone, most.ofNode),
    ...(['probes', 'coordinator', 'bus', 'database'] as const).map((part) =>
      figure(`of it the ${part}`, of(part), node, alone),
    ),
    figure(what, of('all'), openssl, handshake, most.ofHandshakes),
    figure(`node alone, ${perSecond / continents.length} a second`, alone, openssl, handshake),
  ];
};

export const path: Bench = {
  name: 'path',
  about:
    'CPU of an https check over all processes, against node alone at the same pace and openssl s_time -new (6 min)',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const figures: Figure[] = [];
    for (const perSecond of rates) {
      const measured = await measure(perSecond, windowMs, (progress) =>
        say(`${perSecond} a second: ${progress}`),
      );
      figures.push(...figuresOf(perSecond, measured));
    }
    return figures;
  },
};
