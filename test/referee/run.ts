import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openReceiver, says } from '../support/receivers.ts';
import { type Phase, type Row, rowOf, type Told } from './judge.ts';
import type { Scenario } from './scenarios.ts';
import { openAntipode } from './subjects/antipode.ts';
import { openBlackbox } from './subjects/blackbox.ts';
import { openGatus } from './subjects/gatus.ts';
import type { Open, Subject } from './subjects/types.ts';
import { createWorld, type World, type WorldTarget } from './world.ts';

/**
 * Each phase of a scenario has targets of its own, that nobody has watched before: who saw a
 * monitor fail three times in half an hour says that it flaps, and then nothing. A wave is some phases
 * of every scenario at once, each of which fails at a moment of its own.
 */

export const subjectNames = ['antipode', 'gatus', 'blackbox'] as const;
type SubjectName = (typeof subjectNames)[number];
const openings: Readonly<Record<SubjectName, Open>> = {
  antipode: openAntipode,
  gatus: openGatus,
  blackbox: openBlackbox,
};

const interval_s = 10;
const timeoutMs = 5_000;
/** How many phases of each scenario are in a wave. */
const together = 10;
/** Until everybody has seen every target well. */
const settleMs = 2.5 * interval_s * 1_000;
/** So long after its end somebody who waits for two passes can tell of it. */
const afterMs = 30_000;

type Seen = Pick<Subject, 'name' | 'version' | 'settings'>;
type Missing = { readonly name: string; readonly missing: string };
const kuma: Missing = {
  name: 'Uptime Kuma',
  missing:
    'npm has one version, 2.0.0-dev.0, a snapshot from before 2.0; its code takes no interval below 20 s',
};
type Outcome = {
  readonly rows: readonly Row[];
  readonly subjects: readonly Seen[];
  readonly missing: readonly Missing[];
};

export async function runReferee(wanted: {
  readonly phases: number;
  readonly scenarios: readonly Scenario[];
  readonly subjects: readonly SubjectName[];
  readonly say: (line: string) => void;
}): Promise<Outcome> {
  const { phases, scenarios, say } = wanted;
  const folder = await mkdtemp(join(tmpdir(), 'antipode-referee-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const world = await createWorld();
    ends.push(world.close);
    const authority = join(folder, 'authority.pem');
    await writeFile(authority, world.authority);
    const receiver = await openReceiver({ host: world.here });
    ends.push(receiver.close);

    const subjects: Subject[] = [];
    const missing: Missing[] = [kuma];
    for (const name of wanted.subjects) {
      say(`${name} starts`);
      const lab = { world, receiver: receiver.url, authority, folder, interval_s, timeoutMs };
      const opened = await openings[name](lab);
      if ('missing' in opened) {
        missing.push(opened);
        say(`${name} is not there: ${opened.missing}`);
        continue;
      }
      subjects.push(opened);
      ends.push(opened.close);
    }
    const told = new Map<string, Told[]>(subjects.map(({ name }) => [name, []]));
    receiver.answer((response, got) => {
      const at = Date.now();
      says(204)(response, got);
      const subject = subjects.find(({ name }) => got.path.startsWith(`/${name}/`));
      if (!subject) return;
      const message = receiver.got.length;
      for (const said of subject.read(got)) told.get(subject.name)?.push({ ...said, at, message });
    });

    const rows: Row[] = [];
    for (let first = 1; first <= phases; first += together) {
      const count = Math.min(together, phases - first + 1);
      say(`phases ${first} to ${first + count - 1} of ${phases}`);
      const done = await runWave({ world, subjects, scenarios, first, count });
      rows.push(
        ...done.flatMap((phase) =>
          subjects.map(({ name }) => rowOf(phase, name, told.get(name) ?? [])),
        ),
      );
    }
    return { rows, subjects, missing };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

type Case = {
  readonly scenario: Scenario;
  readonly nth: number;
  readonly targets: readonly WorldTarget[];
};

async function runWave(wave: {
  readonly world: World;
  readonly subjects: readonly Subject[];
  readonly scenarios: readonly Scenario[];
  readonly first: number;
  readonly count: number;
}): Promise<readonly Phase[]> {
  const { world, subjects, scenarios, first, count } = wave;
  const cases: Case[] = [];
  const stops: (() => Promise<void>)[] = [];
  try {
    for (const scenario of scenarios)
      for (let nth = first; nth < first + count; nth += 1) {
        const targets: WorldTarget[] = [];
        for (let one = 0; one < scenario.targets; one += 1)
          targets.push(await world.addTarget(`${scenario.name}-${nth}-${one}`, scenario.by, nth));
        cases.push({ scenario, nth, targets });
      }
    // Within so long everything fails and is well again, each at a moment of its own.
    const failingMs = Math.max(...scenarios.map(({ lastsMs }) => lastsMs)) + interval_s * 1_000;
    const watched = cases.flatMap(({ targets }) => targets.map((target) => target.watched));
    const beganAt = Date.now();
    for (const subject of subjects) stops.push(await subject.watch(watched));
    await pause(settleMs);
    const failures = await Promise.all(
      cases.map(async (each) => {
        await pause(Math.random() * (failingMs - each.scenario.lastsMs));
        return { ...each, ...(await failOnce(each)) };
      }),
    );
    await pause(afterMs);
    const overAt = Date.now();
    return failures.map(({ scenario, nth, targets, failedAt, healedAt }) => ({
      scenario,
      nth,
      targets: targets.map(({ watched }) => watched.name),
      beganAt,
      overAt,
      failedAt,
      healedAt,
    }));
  } finally {
    for (const stop of stops) await stop();
    for (const { targets } of cases) for (const target of targets) await target.close();
  }
}

async function failOnce({ scenario, targets }: Case) {
  const failedAt = Date.now();
  await Promise.all(targets.map((target) => target.fail(scenario.fault)));
  await pause(scenario.lastsMs);
  await Promise.all(targets.map((target) => target.heal()));
  return { failedAt, healedAt: Date.now() };
}
