import { faultsOfHeartbeat } from './heartbeat-oracle.ts';
import type { HeartbeatStory } from './heartbeat-story.ts';
import { liveHeartbeat } from './heartbeat-world.ts';
import { smallestThatFails } from './smallest-case.ts';

/** The first thing that is wrong with how a job's story was lived. */
export const heartbeatFault = (story: HeartbeatStory): string | undefined => faultsOfHeartbeat(story, liveHeartbeat(story))[0];

/** What is wrong, without its numbers: a shorter story has other times for the same fault. */
const kindOf = (fault: string): string => fault.replaceAll(/\d+|null/g, '#');

/** Smaller stories, the boldest first. */
function* smaller(story: HeartbeatStory): Generator<HeartbeatStory> {
  for (const list of ['aways', 'pings'] as const) {
    const { length } = story[list];
    for (let size = Math.ceil(length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < length; from += size) yield { ...story, [list]: story[list].toSpliced(from, size) };
    }
  }
  const last = Math.max(story.start, ...story.pings.map(({ at }) => at), ...story.aways.map(({ until }) => until));
  const soon = last + 3 * (story.interval_ms + story.grace_ms) + 120_000;
  if (story.end > soon) yield { ...story, end: soon };
}

/** The shortest story that ends as badly, as far as so many attempts find it. */
export const shrinkHeartbeat = (story: HeartbeatStory, attempts = 2_000): { readonly story: HeartbeatStory; readonly fault: string } =>
  smallestThatFails(story, { faultOf: heartbeatFault, kindOf, smaller }, attempts);

/** The story as people read it; times are seconds from its start. */
export const describeHeartbeat = ({ seed, start, end, interval_ms, grace_ms, max_run_ms, pings, aways }: HeartbeatStory): string => {
  const since = (time: number): string => ((time - start) / 1_000).toFixed(3);
  const happenings = [
    ...pings.map(({ at, kind, rid }) => ({ at, text: `${kind}${rid === null ? '' : ` of ${rid}`}` })),
    ...aways.map(({ at, until, is }) => ({ at, text: `${is} until ${since(until)}` })),
  ];
  return [
    `job ${seed} from ${start}, every ${interval_ms / 1_000} s, grace ${grace_ms / 1_000} s${max_run_ms === null ? '' : `, runs of at most ${max_run_ms / 1_000} s`}`,
    ...happenings.toSorted((a, b) => a.at - b.at).map(({ at, text }) => `${since(at)} ${text}`),
    `${since(end)} the end`,
  ].join('\n');
};
