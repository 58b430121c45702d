import { numberOf, readCommandLine } from '../support/command-line.ts';
import { campaign, type Sum, shrink } from './campaign.ts';
import { describeFleet, makeFleetStory, shrinkFleet } from './fleet.ts';
import { makeHeartbeatStory } from './heartbeat-story.ts';
import { describeHeartbeat, shrinkHeartbeat } from './heartbeat-world.ts';
import { makeStory } from './make-story.ts';
import { searchMutations } from './mutations/report.ts';
import { boundPerMillion, liveOneSided } from './one-sided.ts';
import { describePlaces, makePlacesStory, shrinkPlaces } from './places-story.ts';
import { describeStory } from './story.ts';
import { describeWarnings, makeWarningStory, shrinkWarnings } from './warning-story.ts';

/**
 * Lives so many monitor-years (default 10) of stories, or so many stories, from this seed on
 * (default: the time), and says what came of it. A story that ends badly is told by its seed,
 * shrunk to its shortest, and ends the run with 1.
 */
const usage = `npm run simulate -- [--years N] [--seed S] [--stories N] [--mutations] [--one-sided N]
Lives so many monitor-years (default 10) of stories from this seed on (default: the time), or so many stories; of both, what is reached
first.
--mutations makes mistakes in the code instead, one at a time, and searches so many stories (default 400, from seed 1) for each.
--one-sided makes so many failures on one continent alone, and says how many of them were taken for outages.`;
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const { values } = await readCommandLine(
  {
    years: { type: 'string' },
    seed: { type: 'string' },
    stories: { type: 'string' },
    mutations: { type: 'boolean' },
    'one-sided': { type: 'string' },
  },
  () => usage,
);

/** Each story takes the next seed, and all of them 32 bits. */
const maxSeed = 2 ** 32 - 1;
const isWhole = (least: number, limit: number) => (value: number) =>
  Number.isInteger(value) && value >= least && value <= limit;

const years = numberOf(
  'years',
  values.years,
  usage,
  (value) => Number.isFinite(value) && value > 0,
  'a number above 0',
);
const numberOfSeed = numberOf(
  'seed',
  values.seed,
  usage,
  isWhole(0, maxSeed),
  `a whole number from 0 to ${maxSeed}`,
);
const stories =
  numberOf('stories', values.stories, usage, isWhole(1, maxSeed), 'a whole number, 1 or more') ??
  Number.POSITIVE_INFINITY;
const days =
  (years ?? (stories === Number.POSITIVE_INFINITY ? 10 : Number.POSITIVE_INFINITY)) * 365;

if (values.mutations === true) {
  const from = { seed: numberOfSeed ?? 1, stories: Number.isFinite(stories) ? stories : 400 };
  process.exit((await searchMutations(from, say)) === 0 ? 0 : 1);
}

const seed = numberOfSeed ?? Date.now() % 1_000_000_000;
const began = performance.now();

const oneSided = numberOf(
  'one-sided',
  values['one-sided'],
  usage,
  isWhole(1, 1e9),
  'a whole number, 1 or more',
);
if (oneSided !== undefined) {
  let nextAt = began;
  const sum = liveOneSided(seed, oneSided, ({ failures }) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + 2_000;
    say(`${failures} of ${oneSided} failures, ${((100 * failures) / oneSided).toFixed(1)} %`);
  });
  say(
    `from seed ${seed}: ${sum.failures} failures on one continent alone, ${sum.false_outages} of them taken for outages`,
  );
  say(
    `with 95 % confidence: at most ${boundPerMillion(sum.false_outages, sum.failures).toFixed(3)} of a million`,
  );
  say(
    `${sum.outages} real outages, ${sum.missed} missed, at most ${boundPerMillion(sum.missed, sum.outages).toFixed(0)} of a million; ${sum.checks} checks`,
  );
  process.exit(sum.false_outages + sum.missed === 0 ? 0 : 1);
}
let saidAt = began;
const line = ({ monitorDays, stories: count, happenings }: Sum): string => {
  const seconds = (performance.now() - began) / 1000;
  return `${(monitorDays / 365).toFixed(1)} monitor-years in ${count} stories, ${happenings} happenings, ${Math.round(monitorDays / seconds)} monitor-days a second`;
};

say(`from seed ${seed}`);
const sum = campaign({
  seed,
  tells: 'all',
  isEnough: (soFar) => soFar.stories >= stories || soFar.monitorDays >= days,
  onStory: (soFar) => {
    if (performance.now() - saidAt < 2_000) return;
    saidAt = performance.now();
    say(line(soFar));
  },
});

say(line(sum));
say(
  `${sum.checks} checks, ${sum.messages} messages, ${sum.restarts} coordinators killed or replaced, ${sum.fenced} stale writes fenced off`,
);
say(
  `${sum.incidents} incidents, ${sum.confirmed} of them confirmed, ${sum.alerts} alerts delivered`,
);
say(`${sum.pings} pings of jobs`);
if (sum.failed === null) say('every rule held');
else {
  say(`\nseed ${sum.failed.seed} ended badly: ${sum.failed.violation}`);
  say(`replay: npm run simulate -- --seed ${sum.failed.seed} --stories 1`);
  if (sum.failed.of === 'job') {
    const { story, fault } = shrinkHeartbeat(makeHeartbeatStory(sum.failed.seed));
    say(`\nthe shortest story that ends so:\n${describeHeartbeat(story)}\n${fault}`);
  } else if (sum.failed.of === 'places') {
    const { story, fault } = shrinkPlaces(makePlacesStory(sum.failed.seed));
    say(`\nthe shortest story that ends so:\n${describePlaces(story)}\n${fault}`);
  } else if (sum.failed.of === 'fleet') {
    const { story, fault } = shrinkFleet(makeFleetStory(sum.failed.seed));
    say(`\nthe shortest story that ends so:\n${describeFleet(story)}\n${fault}`);
  } else if (sum.failed.of === 'warning') {
    const { story, fault } = shrinkWarnings(makeWarningStory(sum.failed.seed));
    say(`\nthe shortest story that ends so:\n${describeWarnings(story)}\n${fault}`);
  } else {
    const { story, fault } = shrink(makeStory(sum.failed.seed));
    say(`\nthe shortest story that ends so:\n${describeStory(story)}\n${fault}`);
  }
  process.exitCode = 1;
}
