import { afterEach, describe, expect, test, vi } from 'vitest';
import type * as Core from '../../coordinator/core/heartbeat.ts';
import type * as Views from '../../coordinator/core/views.ts';
import type * as View from '../../probe/schedule/heartbeats.ts';
import type * as Deadline from '../../shared/checks/heartbeat/state.ts';
import type * as State from '../../shared/checks/heartbeat/state.ts';
import { expectedOutages, faultsOfHeartbeat } from './heartbeat-oracle.ts';
import { makeHeartbeatStory } from './heartbeat-story.ts';
import { liveHeartbeat } from './heartbeat-world.ts';

const core = '../../coordinator/core/heartbeat.ts';
const views = '../../coordinator/core/views.ts';
const view = '../../probe/schedule/heartbeats.ts';
const deadline = '../../shared/checks/heartbeat/state.ts';
const state = '../../shared/checks/heartbeat/state.ts';

/** The first of so many jobs with which something is wrong, lived by what is mocked now. */
const findFault = async (
  jobs: number,
): Promise<{ readonly seed: number; readonly fault: string } | undefined> => {
  const { heartbeatFault } = await import('./heartbeat-world.ts');
  for (let seed = 1; seed <= jobs; seed += 1) {
    const fault = heartbeatFault(makeHeartbeatStory(seed));
    if (fault !== undefined) return { seed, fault };
  }
  return undefined;
};

afterEach(() => {
  vi.doUnmock(core);
  vi.doUnmock(views);
  vi.doUnmock(view);
  vi.doUnmock(deadline);
  vi.doUnmock(state);
  vi.resetModules();
});

describe('jobs that ping, simulated', () => {
  test('rules 19 and 20 hold for hundreds of them while the bus, the coordinator and the judging probe come and go', {
    timeout: 120_000,
  }, async () => {
    const stories = Array.from({ length: 120 }, (_, index) => makeHeartbeatStory(index + 1));
    expect(stories.flatMap(expectedOutages).length).toBeGreaterThan(1_500);
    expect(await findFault(stories.length)).toBeUndefined();
  });

  test('two places keep pings, and a start or a success comes after the success that followed it', () => {
    expect(
      [392, 643, 754, 76000008, 78101476].flatMap((seed) =>
        faultsOfHeartbeat(makeHeartbeatStory(seed), liveHeartbeat(makeHeartbeatStory(seed))),
      ),
    ).toEqual([]);
  });

  test('the same seed gives the same life', () => {
    const told = (seed: number) => JSON.stringify(liveHeartbeat(makeHeartbeatStory(seed)));
    expect(told(3)).toBe(told(3));
    expect(told(3)).not.toBe(told(4));
  });

  test('a story that ends badly is shrunk to a short one that ends the same way', {
    timeout: 120_000,
  }, async () => {
    vi.doMock(deadline, async (original) => {
      const real = await original<typeof Deadline>();
      const judgePings: typeof real.judgePings = (pings, terms, now) =>
        real.judgePings(pings, { ...terms, grace_ms: 0 }, now);
      return { ...real, judgePings };
    });
    const found = await findFault(50);
    const { heartbeatFault, shrinkHeartbeat, describeHeartbeat } = await import(
      './heartbeat-world.ts'
    );
    const whole = makeHeartbeatStory(found?.seed ?? 0);
    const { story, fault } = shrinkHeartbeat(whole);
    expect(story.pings.length).toBeLessThanOrEqual(2);
    expect(story.aways).toEqual([]);
    expect(describeHeartbeat(story).length).toBeLessThan(describeHeartbeat(whole).length);
    expect(heartbeatFault(story)).toBe(fault);
  });
});

/**
 * A simulation that never fails proves nothing: each of these is broken in turn, and must be
 * missed.
 */
describe('what is broken is found out:', () => {
  const inCore = (change: (real: typeof Core) => Partial<typeof Core>) =>
    vi.doMock(core, async (original) => {
      const real = await original<typeof Core>();
      return { ...real, ...change(real) };
    });
  const inViews = (change: (real: typeof Views) => Partial<typeof Views>) =>
    vi.doMock(views, async (original) => {
      const real = await original<typeof Views>();
      return { ...real, ...change(real) };
    });
  const inDeadline = (change: (real: typeof Deadline) => Partial<typeof Deadline>) =>
    vi.doMock(deadline, async (original) => {
      const real = await original<typeof Deadline>();
      return { ...real, ...change(real) };
    });
  const inState = (change: (real: typeof State) => Partial<typeof State>) =>
    vi.doMock(state, async (original) => {
      const real = await original<typeof State>();
      return { ...real, ...change(real) };
    });

  test.each<readonly [string, () => void]>([
    ['a judgement from before a good beat counts', () => inViews(() => ({ isVoid: () => false }))],
    [
      'a good beat ends nothing',
      () =>
        inCore(({ onPing }) => ({
          onPing: (draft, ping) => (ping.is === 'good' ? undefined : onPing(draft, ping)),
        })),
    ],
    [
      '/fail is not heard',
      () =>
        inCore(({ onPing }) => ({
          onPing: (draft, ping) => (ping.is === 'bad' ? undefined : onPing(draft, ping)),
        })),
    ],
    [
      'a failure that comes late counts as if it were of now',
      () =>
        inCore(({ onPing }) => ({
          onPing: (draft, ping) =>
            onPing({ ...draft, state: { ...draft.state, beat_at: null } }, ping),
        })),
    ],
    [
      'a view is trusted the moment the bus is back',
      () =>
        vi.doMock(view, async (original) => ({
          ...(await original<typeof View>()),
          settlingAfter: () => 0,
        })),
    ],
    [
      'the grace is forgotten',
      () =>
        inDeadline(({ judgePings }) => ({
          judgePings: (pings, terms, now) => judgePings(pings, { ...terms, grace_ms: 0 }, now),
        })),
    ],
    [
      'runs have no limit',
      () =>
        inDeadline(({ judgePings }) => ({
          judgePings: (pings, terms, now) => judgePings(pings, { ...terms, max_run_ms: null }, now),
        })),
    ],
    [
      'what fails is looked at once a minute',
      () =>
        inDeadline(({ nextRecheckAt }) => ({
          nextRecheckAt: (judged, ...rest) =>
            judged.is === 'failing' ? rest[2] + 60_000 : nextRecheckAt(judged, ...rest),
        })),
    ],
    [
      'runs are not told apart',
      () =>
        inState(({ foldPing }) => ({
          foldPing: (pings, ping) => foldPing(pings, { ...ping, rid: null }),
        })),
    ],
    [
      'a run ends with nothing',
      () =>
        inState(({ foldPing }) => ({
          foldPing: (pings, ping) => ({
            ...foldPing(pings, ping),
            state: {
              ...foldPing(pings, ping).state,
              open: [
                ...pings.open,
                ...(ping.kind === 'start' ? [{ rid: ping.rid, at: ping.at }] : []),
              ],
            },
          }),
        })),
    ],
  ])('%s', { timeout: 120_000 }, async (_, mock) => {
    vi.resetModules();
    mock();
    expect(await findFault(1_500)).toBeDefined();
  });
});
