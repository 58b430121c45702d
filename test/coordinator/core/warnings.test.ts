import { describe, expect, test } from 'vitest';
import { restore } from '../../../coordinator/core/lifecycle.ts';
import type { Warning } from '../../../shared/checks/result.ts';
import { makeWarningStory, warningFault } from '../../simulation/warning-story.ts';
import { at, story } from './story.ts';

const slow: Warning = { code: 'slow', details: { took_ms: 3_000, limit_ms: 2_000 } };
const ends = (stage: number): Warning => ({
  code: 'certificate_expires',
  details: { ends_at: at(400_000), stage, certificate: 'AA' },
});
const three = ['Europe', 'Asia', 'North America'] as const;

describe('rule 44: a warning', () => {
  test('begins with the second continent that sees it, since the first, and is no incident', () => {
    const life = story(three);
    life.pass('Europe', 0, { warnings: [ends(7)] });
    expect(life.effects('warning')).toEqual([]);
    life.pass('Asia', 60, { warnings: [ends(7)] });
    expect(life.effects('warning')).toMatchObject([
      { change: 'begun', warning: { since: at(0), begun_at: at(60) }, ended_at: null },
    ]);
    life.pass('North America', 120, { warnings: [ends(7)] });
    life.pass('Europe', 180, { warnings: [ends(7)] });
    expect(life.effects('warning')).toHaveLength(1);
    expect(life.incidents()).toEqual([]);
  });

  test('that one continent sees alone never begins', () => {
    const life = story(three);
    for (let turn = 0; turn < 20; turn += 1) {
      life.pass('Europe', turn * 180, { warnings: [ends(7)] });
      life.pass('Asia', turn * 180 + 60);
      life.pass('North America', turn * 180 + 120);
    }
    expect(life.effects('warning')).toEqual([]);
  });

  test('ends at the check with which fewer than two continents see it', () => {
    const life = story(three);
    life.pass('Europe', 0, { warnings: [ends(7)] });
    life.pass('Asia', 60, { warnings: [ends(7)] });
    life.pass('North America', 120, { warnings: [ends(7)] });
    life.pass('Europe', 180);
    expect(life.effects('warning')).toHaveLength(1);
    life.pass('Asia', 240);
    expect(life.effects('warning')).toMatchObject([
      { change: 'begun' },
      { change: 'ended', ended_at: at(240) },
    ]);
    expect(life.state().warnings).toEqual([]);
  });

  test('needs two turns in a row, to begin and to end, where only one continent may check', () => {
    const life = story(['Europe']);
    life.pass('Europe', 0, { warnings: [ends(7)] });
    life.pass('Europe', 60);
    life.pass('Europe', 120, { warnings: [ends(7)] });
    expect(life.effects('warning')).toEqual([]);
    life.pass('Europe', 180, { warnings: [ends(7)] });
    expect(life.effects('warning')).toMatchObject([
      { change: 'begun', warning: { since: at(120) } },
    ]);
    life.pass('Europe', 240);
    life.pass('Europe', 300, { warnings: [ends(7)] });
    life.pass('Europe', 360);
    expect(life.effects('warning')).toHaveLength(1);
    life.pass('Europe', 420);
    expect(life.effects('warning').at(-1)).toMatchObject({ change: 'ended', ended_at: at(360) });
  });

  test('of slowness takes the median of five checks of each of two continents', () => {
    const life = story();
    const turn = (second: number, isSlow: boolean) => {
      const warnings = isSlow ? { warnings: [slow] } : {};
      life.pass('Europe', second, warnings);
      life.pass('Asia', second + 60, warnings);
    };
    for (const [nth, isSlow] of [true, false, true, false].entries()) turn(nth * 120, isSlow);
    expect(life.effects('warning')).toEqual([]);
    turn(480, true);
    expect(life.effects('warning')).toMatchObject([
      { change: 'begun', warning: { code: 'slow', since: at(480), begun_at: at(540) } },
    ]);
    turn(600, false);
    turn(720, false);
    expect(life.effects('warning').at(-1)).toMatchObject({ change: 'ended' });
  });

  test('of slowness begins with two slow checks in a row of each of two continents: after 40 s at an interval of 10 s', () => {
    const life = story(['Europe', 'Asia', 'Africa'], { interval_ms: 10_000 });
    const turns = ['Europe', 'Asia', 'Africa', 'Europe'] as const;
    for (const [nth, place] of turns.entries()) life.pass(place, nth * 10, { warnings: [slow] });
    expect(life.effects('warning')).toEqual([]);
    life.pass('Asia', 40, { warnings: [slow] });
    expect(life.effects('warning')).toMatchObject([
      { change: 'begun', warning: { code: 'slow', begun_at: at(40) } },
    ]);
  });

  test('of a certificate becomes more urgent once all observing continents say so', () => {
    const life = story();
    life.pass('Europe', 0, { warnings: [ends(14)] });
    life.pass('Asia', 60, { warnings: [ends(14)] });
    life.pass('Europe', 120, { warnings: [ends(7)] });
    expect(life.effects('warning')).toHaveLength(1);
    life.pass('Asia', 180, { warnings: [ends(7)] });
    life.pass('Europe', 240, { warnings: [ends(7)] });
    expect(life.effects('warning').map(({ change }) => change)).toEqual(['begun', 'deepened']);
  });

  test('of two servers with two certificates tells each stage of each once, however they alternate', () => {
    const life = story();
    const certificate = (stage: number, end: number): { warnings: Warning[] } => ({
      warnings: [{ code: 'certificate_expires', details: { ends_at: at(end), stage } }],
    });
    const agree = (second: number, said: { warnings: Warning[] }) => {
      life.pass('Europe', second, said);
      life.pass('Asia', second + 60, said);
    };
    const changes = () => life.effects('warning').map(({ change }) => change);
    const told = () => changes().filter((change) => change !== 'changed');
    const [later, sooner] = [certificate(30, 2_000_000), certificate(14, 1_000_000)];
    agree(0, later);
    agree(120, sooner);
    agree(240, later);
    agree(360, sooner);
    expect(told()).toEqual(['begun', 'deepened']);
    expect(changes()).toContain('changed');
    // What was renewed ends another time, and its stages are told as well.
    agree(480, certificate(30, 3_000_000));
    agree(600, certificate(14, 3_000_000));
    expect(told()).toEqual(['begun', 'deepened', 'deepened']);
  });

  test('stays while the monitor is down, and through a pause', () => {
    const life = story();
    life.pass('Europe', 0, { warnings: [ends(7)] });
    life.pass('Asia', 60, { warnings: [ends(7)] });
    life.fail('Europe', 120);
    life.fail('Asia', 121);
    expect(life.incidents()).toMatchObject([{ confirmed_at: at(121) }]);
    life.tell({ is: 'paused', at: at(130) }, 130);
    life.tell({ is: 'resumed', at: at(140) }, 140);
    expect(life.effects('warning').map(({ change }) => change)).toEqual(['begun']);
    expect(life.state().warnings).toHaveLength(1);
  });

  test('of a code that only a newer probe knows is left out', () => {
    const life = story();
    const newer = { warnings: [{ code: 'of_the_future', details: {} }] };
    life.pass('Europe', 0, newer);
    life.pass('Asia', 60, newer);
    expect(life.effects('warning')).toEqual([]);
    expect(life.state().warnings).toEqual([]);
  });

  test('is not seen by a quarantined probe', () => {
    const life = story(three);
    life.pass('Europe', 0, { warnings: [ends(7)], quarantined: true });
    life.pass('Asia', 60, { warnings: [ends(7)] });
    life.tell({ is: 'quarantined', at: at(61), probe: 'probe-Asia' }, 61);
    life.pass('North America', 120, { warnings: [ends(7)] });
    expect(life.effects('warning')).toEqual([]);
  });

  test('is taken over by another coordinator, and ends there', () => {
    const life = story();
    life.pass('Europe', 0, { warnings: [ends(7)] });
    life.pass('Asia', 60, { warnings: [ends(7)] });
    const [effect] = life.effects('warning');
    const { watched, views, clock, covered_until, decides_from, beat_at, gaps } = life.state();
    const restored = restore({
      watched,
      checkpoint: { views, clock, covered_until, decides_from, beat_at, observed: null },
      results: [],
      resumed_at: null,
      incident: null,
      gaps,
      warnings: effect ? [{ ...effect.warning, views: [] }] : [],
    });
    expect(restored.warnings).toMatchObject([{ code: 'certificate_expires', since: at(0) }]);
  });

  test('costs nothing for a monitor without any: its state is unchanged', () => {
    const life = story(three);
    life.pass('Europe', 0);
    const { warnings } = life.state();
    life.pass('Asia', 60);
    expect(life.state().warnings).toBe(warnings);
  });
});

test('rule 44 holds in two thousand random lives, as an oracle says that knows all of each', {
  timeout: 60_000,
}, () => {
  for (let seed = 1; seed <= 2_000; seed += 1)
    expect({ seed, fault: warningFault(makeWarningStory(seed)) }).toEqual({ seed });
});
