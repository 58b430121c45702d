import {
  type Failing,
  findCauses,
  type Passing,
  type Share,
  type ShareKind,
} from '../../coordinator/core/causes.ts';
import { type Chance, createChance } from './story.ts';

/** An organisation at the moment when something is asked, and what was broken in it. */
type CauseMix = {
  readonly failing: readonly Failing[];
  readonly passing: readonly Passing[];
  /** By what was broken: the incidents that it caused. */
  readonly planted: ReadonlyMap<string, ReadonlySet<string>>;
};

/** By so many outages a cause is planted: fewer prove none (rule 49). */
const leastPlanted = 3;

/** The parts of planted causes and of members that may be wrong. */
const allowed = { missed: 0.03, misnamed: 0.02, guessed: 0.005, unrelated: 0.01 };

/** What is wrong with the causes that are found in so many mixes. */
export function causeFault(from: number, mixes: number): string | undefined {
  let [causes, members, all] = [0, 0, 0];
  const wrong = { missed: 0, misnamed: 0, guessed: 0, unrelated: 0 };
  for (let seed = from; seed < from + mixes; seed += 1) {
    const { failing, passing, planted } = makeCauseMix(seed);
    const found = findCauses(failing, passing);
    const ofCause = (own: readonly string[], ids: ReadonlySet<string>) =>
      own.filter((id) => ids.has(id)).length;
    for (const [key, caused] of planted) {
      if (caused.size < leastPlanted) continue;
      causes += 1;
      const its = found.find(({ members: own }) => ofCause(own, caused) * 2 > caused.size);
      if (its === undefined) wrong.missed += 1;
      else if (`${its.kind} ${its.value}` !== key) wrong.misnamed += 1;
    }
    for (const { members: own } of found) {
      const related = Math.max(0, ...[...planted.values()].map((ids) => ofCause(own, ids)));
      all += 1;
      members += own.length;
      if (related * 2 <= own.length) wrong.guessed += 1;
      wrong.unrelated += own.length - related;
    }
  }
  const of = { missed: causes, misnamed: causes, guessed: all, unrelated: members };
  const kinds = ['missed', 'misnamed', 'guessed', 'unrelated'] as const;
  const fault = kinds.find((kind) => wrong[kind] > allowed[kind] * of[kind]);
  return fault && `${wrong[fault]} of ${of[fault]} are ${fault}`;
}

type Monitor = {
  readonly id: string;
  readonly interval: number;
  readonly offset: number;
  readonly shares: readonly Share[];
};

/** What is broken, by how it makes its monitors fail. */
const breaks = [
  { kind: 'address', layer: 'tcp', manner: 'unreachable' },
  { kind: 'address', layer: 'http', manner: '503' },
  { kind: 'certificate', layer: 'tls', manner: 'certificate_expired' },
  { kind: 'issuer', layer: 'tls', manner: 'certificate_untrusted' },
  { kind: 'server', layer: 'http', manner: '502' },
  { kind: 'zone', layer: 'dns', manner: 'name' },
  { kind: 'name_server', layer: 'dns', manner: 'name' },
  { kind: 'place', layer: 'timeout', manner: 'unreachable' },
] as const;

/** Failures of their own, in as many layers, at any time of the last hour or at the same moment. */
const noises = [
  { layer: 'tcp', manner: 'unreachable' },
  { layer: 'http', manner: '500' },
  { layer: 'http', manner: '503' },
  { layer: 'assertion', manner: 'text_missing' },
  { layer: 'tls', manner: 'certificate_expired' },
  { layer: 'dns', manner: 'name' },
  { layer: 'timeout', manner: 'unreachable' },
] as const;

const now = 10_000_000;

/**
 * A random mix of planted causes, coincidences and noise: up to two things break within the same
 * minute, and other monitors fail for reasons of their own, some of them at that moment.
 */
function makeCauseMix(seed: number): CauseMix {
  const chance = createChance(seed);
  const monitors = Array.from({ length: 20 + chance.between(0, 180) }, (_, nth) =>
    makeMonitor(chance, nth),
  );
  const asked = now - chance.between(0, 119_999);
  const began = asked - 360_000 - chance.between(0, 239_999);
  const planted = new Map<string, Set<string>>();
  const failing = new Map<string, Failing>();
  for (let nth = chance.between(0, 2); nth > 0; nth -= 1) {
    const { kind, layer, manner } = chance.pick(breaks);
    const values = valuesOf(kind, monitors).filter((value) => !planted.has(`${kind} ${value}`));
    if (values.length === 0) continue;
    const value = chance.pick(values);
    const at = began + chance.between(0, 59_999);
    const members = monitors.filter(
      ({ id, shares }) =>
        !failing.has(id) && shares.some((one) => one.kind === kind && one.value === value),
    );
    for (const monitor of members) fail(monitor, at, layer, manner);
    const ids = members.map(({ id }) => id).filter((id) => failing.has(id));
    planted.set(`${kind} ${value}`, new Set(ids));
  }
  for (const monitor of monitors) {
    if (failing.has(monitor.id) || !chance.happens(0.03)) continue;
    const { layer, manner } = chance.pick(noises);
    const at = chance.happens(0.5)
      ? began + chance.between(0, 59_999)
      : asked - chance.between(0, 3_599_999);
    fail(monitor, at, layer, manner);
  }
  if (chance.happens(0.5)) tempt();
  const passing = monitors
    .filter(({ id }) => !failing.has(id))
    .map((monitor) => ({ passed_at: newestBefore(monitor, asked), shares: monitor.shares }));
  return { failing: [...failing.values()], passing, planted };

  /** Outages of some that share something, which is not their cause. */
  function tempt(): void {
    const { kind, layer, manner } = chance.pick(breaks);
    const value = chance.pick(valuesOf(kind, monitors).concat(['']));
    const sharing = monitors.filter(
      ({ id, shares }) =>
        !failing.has(id) && shares.some((one) => one.kind === kind && one.value === value),
    );
    const how = chance.pick(['some', 'apart', 'unlike']);
    for (const [nth, monitor] of sharing.slice(0, 8).entries()) {
      if (how === 'some' && nth % 2 === 0) fail(monitor, began, layer, manner);
      if (how === 'apart') fail(monitor, began - nth * 1_200_000, layer, manner);
      if (how === 'unlike') fail(monitor, began, layer, `${manner} ${nth}`);
    }
  }

  function fail(monitor: Monitor, at: number, layer: Failing['layer'], manner: string): void {
    const passed_at = newestBefore(monitor, at);
    const failed_at = passed_at + monitor.interval;
    if (failed_at > asked) return;
    const { id: incident, shares } = monitor;
    failing.set(incident, { incident, passed_at, failed_at, layer, manner, shares });
  }
}

function makeMonitor(chance: Chance, nth: number): Monitor {
  const zone = chance.between(0, 5);
  const address = `203.0.113.${zone * 4 + chance.between(0, 3)}`;
  const interval = chance.pick([20_000, 60_000, 60_000, 300_000]);
  return {
    id: `m${nth}`,
    interval,
    offset: chance.between(0, interval - 1),
    shares: [
      { kind: 'address', value: `${address}:443` },
      { kind: 'certificate', value: `of zone ${zone} ${chance.between(0, 1)}` },
      { kind: 'issuer', value: chance.pick(['Ada', 'Ada', 'Bell', 'Cray']) },
      { kind: 'server', value: chance.pick(['nginx', 'edge', 'gate', 'haproxy', 'caddy']) },
      { kind: 'zone', value: `zone${zone}.example` },
      { kind: 'name_server', value: `ns${zone % 3}.example` },
      ...(chance.happens(0.2)
        ? [{ kind: 'place', value: chance.pick(['Office', 'Lab']) } as const]
        : []),
    ],
  };
}

function valuesOf(kind: ShareKind, monitors: readonly Monitor[]): string[] {
  const values = monitors.flatMap(({ shares }) =>
    shares.filter((one) => one.kind === kind).map(({ value }) => value),
  );
  return [...new Set(values)];
}

function newestBefore({ interval, offset }: Monitor, at: number): number {
  return Math.floor((at - offset) / interval) * interval + offset;
}
