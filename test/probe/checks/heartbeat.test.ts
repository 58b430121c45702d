import { describe, expect, test } from 'vitest';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHeartbeatCheck } from '../../../probe/checks/heartbeat.ts';
import { causeLayer, causeSentence } from '../../../shared/checks/causes.ts';
import { noPings, type PingState } from '../../../shared/checks/heartbeat/state.ts';
import { withoutTemporal } from '../../support/eventually.ts';
import { assignmentOf, deadlineIn } from '../support/checkers.ts';

/** What a probe says of a heartbeat, by what it sees on the bus in that moment (rule 20). */

const now = 1_800_000_000_000;
const mark = (ago: number, exit_code: number | null = null) => ({ id: `beat ${ago}`, at: now - ago, exit_code });

const judged = async (state: PingState | undefined, config = {}, readMs = 0) => {
  const next: (number | null)[] = [];
  let time = now;
  const read = async () => {
    time += readMs;
    return state;
  };
  const check = createHeartbeatCheck({ view: { read }, onJudged: (_, at) => next.push(at) });
  const { outcome, cause } = await check({
    assignment: assignmentOf('', { kind: 'heartbeat', interval_ms: 60_000, timeout_ms: 10_000, config, config_version: 3 }),
    started_at: now,
    deadline: deadlineIn(Number.POSITIVE_INFINITY),
    evidence_wanted: true,
    guard: createGuard({ allow: [], bus: () => [], own: () => [] }),
    probe: { name: 'test', continent: 'Europe', base_url: '', version: '0' },
    clock: { now: () => time },
  });
  return { said: cause ? `${outcome}, ${causeLayer(cause)}: ${causeSentence(cause)}` : outcome, next: next[0] };
};

describe('a heartbeat', () => {
  const known: PingState = { ...noPings, terms: 3 };
  test.each<readonly [string, PingState | undefined, object, string]>([
    ['without a view of the bus', undefined, {}, "unknown, probe: The probe's view of the bus was too old"],
    ['under other terms than its own', { ...known, terms: 4 }, {}, "unknown, probe: The probe's view of the bus was too old"],
    ['before its first beat', known, {}, 'unknown, probe: No heartbeat has come yet'],
    ['in time', { ...known, good: mark(50_000), latest: 'good' }, {}, 'ok'],
    ['in its grace', { ...known, good: mark(80_000), latest: 'good' }, {}, 'ok'],
    [
      'late',
      { ...known, good: mark(100_000), latest: 'good' },
      {},
      'fail, heartbeat: No heartbeat for 100 seconds (expected every minute)',
    ],
    ['failed', { ...known, bad: mark(5_000), latest: 'bad' }, {}, 'fail, heartbeat: The job reported a failure'],
    ['failed by its exit code', { ...known, bad: mark(5_000, 3), latest: 'bad' }, {}, 'fail, heartbeat: The job ended with exit code 3'],
    [
      'begun and never ended',
      { ...known, open: [{ rid: null, at: now - 31_000 }] },
      { max_run_s: 30 },
      'fail, heartbeat: The job started and did not end within 30 seconds',
    ],
  ])('%s', async (_, state, config, said) => {
    expect((await judged(state, config)).said).toBe(said);
  });

  test('with a cron schedule on a Node that cannot read one is unknown in words, and asked again; others are judged there', async () => {
    const state: PingState = { ...known, good: mark(50_000), latest: 'good' };
    const schedule = { schedule: '30 2 * * *', timezone: 'Europe/Berlin' };
    const unread = 'unknown, probe: The probe runs on a Node older than 26, which cannot read a schedule';
    expect(await withoutTemporal(() => judged(state, schedule))).toEqual({ said: unread, next: now + 60_000 });
    expect((await withoutTemporal(() => judged(state))).said).toBe('ok');
    expect((await judged(state, schedule)).said).toBe('ok');
  });

  test('whose view was no good is judged again when there is one, and not at a time of its own', async () => {
    expect((await judged(undefined)).next).toBeNull();
    expect((await judged({ ...known, good: mark(50_000), latest: 'good' })).next).toBe(now + 40_000);
  });

  test('whose deadline passed while the view was read is in time, and looked at once more at its deadline', async () => {
    expect(await judged({ ...known, good: mark(89_900), latest: 'good' }, {}, 500)).toEqual({ said: 'ok', next: now + 100 });
  });
});
