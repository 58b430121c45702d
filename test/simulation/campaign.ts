import { allRules, type Rules } from '../../coordinator/core/types.ts';
import { heartbeatFault } from './heartbeat-shrink.ts';
import { jobDays, makeHeartbeatStory } from './heartbeat-story.ts';
import { makeStory } from './make-story.ts';
import { monitorDays } from './story.ts';
import { type Lived, live } from './world.ts';

/** Many stories, one after the other, from consecutive seeds, until enough time has been lived or one ends badly. */
export type Sum = {
  stories: number;
  monitorDays: number;
  checks: number;
  messages: number;
  restarts: number;
  fenced: number;
  happenings: number;
  incidents: number;
  confirmed: number;
  alerts: number;
  pings: number;
  failed: { readonly seed: number; readonly violation: string; readonly of: 'network' | 'job' } | null;
};

const add = (sum: Sum, { record, database }: Lived): void => {
  sum.checks += record.checks;
  sum.messages += record.messages;
  sum.restarts += record.restarts - 1;
  sum.fenced += record.fenced;
  sum.incidents += database.incidents.size;
  sum.alerts += record.delivered.length;
  for (const { incident } of database.incidents.values()) if (incident.confirmed_at !== null) sum.confirmed += 1;
};

const addStory = (sum: Sum, seed: number, rules: Rules): void => {
  const story = makeStory(seed);
  const lived = live(story, rules);
  sum.monitorDays += monitorDays(story);
  sum.happenings += story.happenings.length;
  add(sum, lived);
  const violation = lived.record.violations[0];
  if (violation !== undefined) sum.failed = { seed, violation, of: 'network' };
};

const addJob = (sum: Sum, seed: number): void => {
  const job = makeHeartbeatStory(seed);
  sum.monitorDays += jobDays(job);
  sum.pings += job.pings.length;
  const violation = heartbeatFault(job);
  if (violation !== undefined) sum.failed = { seed, violation, of: 'job' };
};

export const campaign = (options: {
  readonly seed: number;
  readonly isEnough: (sum: Sum) => boolean;
  readonly rules?: Rules;
  /** Networks that check monitors (the default), jobs that ping, or one of each for every seed. */
  readonly tells?: 'network' | 'job' | 'both';
  readonly onStory?: (sum: Sum) => void;
}): Sum => {
  const sum: Sum = {
    stories: 0,
    monitorDays: 0,
    checks: 0,
    messages: 0,
    restarts: 0,
    fenced: 0,
    happenings: 0,
    incidents: 0,
    confirmed: 0,
    alerts: 0,
    pings: 0,
    failed: null,
  };
  const { tells = 'network' } = options;
  for (let seed = options.seed; sum.failed === null && !options.isEnough(sum); seed += 1) {
    sum.stories += 1;
    if (tells !== 'job') addStory(sum, seed, options.rules ?? allRules);
    if (tells !== 'network' && sum.failed === null) addJob(sum, seed);
    options.onStory?.(sum);
  }
  return sum;
};
