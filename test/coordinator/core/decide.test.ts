import { describe, expect, test } from 'vitest';
import { at, story } from './story.ts';

/** The narrow places of the core: what lies exactly on a line, and what must change nothing. */

describe('what says nothing', () => {
  test('rules 15 and 16: the answer of a probe in quarantine stands in the matrix as unknown', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    const look = told.effects('look')[0]?.look ?? null;
    told.fail('Asia', 10.3, { look, quarantined: true });
    expect(told.effects('evidence').at(-1)?.row).toMatchObject({ part: 'matrix', continent: 'Asia', outcome: 'unknown' });
    expect(told.state().incident?.confirmed_at).toBeNull();
  });

  test('rule 15: an answer to another look is no part of the matrix', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.pass('Asia', 10.3, { look: 'another' });
    told.pass('Asia', 10.4);
    expect(told.effects('evidence').map(({ row }) => row.part)).toEqual(['seen']);
  });

  test('rule 17: a tick of a paused monitor does nothing, and an edit leaves it paused', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.tell({ is: 'paused', at: at(20) }, 20);
    const { watched } = told.state();
    expect(told.tick(10_000)).toEqual([]);
    told.tell({ is: 'edited', at: at(30), watched: { ...watched, paused_at: null, interval_ms: 30_000 }, changed: true }, 30);
    expect(told.state().watched).toMatchObject({ paused_at: at(20), interval_ms: 30_000 });
    expect(told.fail('Europe', 40)).not.toContainEqual(expect.objectContaining({ is: 'incident' }));
  });

  test('rule 3: a result older than two turns decides nothing, one of exactly two turns does', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Asia', 500);
    told.fail('Europe', 259.999, { arrives: 501 });
    expect(told.incidents()).toEqual([]);
    told.fail('Europe', 260, { arrives: 502 });
    expect(told.incidents()).toMatchObject([{ started_at: at(260) }]);
  });

  test('rule 3: nor does one older than what another probe of its continent has seen', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 100, { probe: 'second' });
    told.fail('Europe', 90, { arrives: 101 });
    expect(told.incidents()).toEqual([]);
    told.fail('Europe', 110);
    told.pass('Europe', 105, { probe: 'second', arrives: 111 });
    expect(told.incidents()).toMatchObject([{ started_at: at(110), resolved_at: null }]);
  });

  test('rule 3: an older pass of a probe that fails changes nothing', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Asia', 1);
    told.fail('Europe', 20);
    expect(told.pass('Europe', 10, { arrives: 21 })).toEqual([]);
    expect(told.incidents()).toMatchObject([{ started_at: at(20), resolved_at: null }]);
  });

  test('rule 5: who may not check it decides nothing', () => {
    const told = story(['Europe', 'Asia', 'Africa'], { continents: ['Europe', 'Asia'] });
    told.fail('Africa', 10);
    expect(told.incidents()).toEqual([]);
    told.fail('Europe', 11);
    told.fail('Africa', 12);
    expect(told.state().incident?.confirmed_at).toBeNull();
    const own = story(['Europe', 'Asia'], { probe: 'probe-Europe' });
    own.fail('Asia', 10);
    expect(own.incidents()).toEqual([]);
  });

  test('a further failure of a continent that is known to fail writes nothing', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    const written = told.effects('incident').length;
    told.fail('Europe', 130);
    expect(told.effects('incident')).toHaveLength(written);
  });
});

describe('rule 10: refuted', () => {
  const lonely = () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    // More than a minute apart: this confirms nothing.
    told.fail('Asia', 100);
    return told;
  };
  const refuted = (told: ReturnType<typeof story>) => told.state().incident?.progress.refuted;

  test('also by a pass that comes late, of another probe than the one whose view counts', () => {
    const told = lonely();
    told.pass('Asia', 50, { probe: 'second', arrives: 101 });
    expect(refuted(told)).toBe(true);
    expect(told.pass('Asia', 60, { probe: 'third', arrives: 102 })).toEqual([]);
    told.fail('Europe', 130);
    expect(told.incidents()).toMatchObject([
      { started_at: at(10), resolved_at: at(130), note: 'seen from one continent only' },
      { started_at: at(130), confirmed_at: at(130), confirmed: { continent: 'Asia' } },
    ]);
  });

  test('not by what is stale for its own probe, nor by its own continent, nor by a pass that did not start later', () => {
    const told = lonely();
    told.pass('Asia', 50, { arrives: 101 });
    expect(refuted(told)).toBe(false);
    told.pass('Asia', 10, { probe: 'second', arrives: 102 });
    expect(refuted(told)).toBe(false);
    const seeing = story(['Europe', 'Asia']);
    seeing.fail('Europe', 10);
    seeing.fail('Europe', 130);
    seeing.pass('Europe', 50, { probe: 'second', arrives: 131 });
    expect(refuted(seeing)).toBe(false);
  });

  test('not by a pass that started together with the failure, when it opens or later', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Asia', 10);
    told.fail('Europe', 10);
    told.pass('Africa', 10);
    expect(refuted(told)).toBe(false);
    told.pass('Africa', 10.001);
    expect(refuted(told)).toBe(true);
  });

  test('a confirmed one is refuted by nobody', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.fail('Africa', 100);
    expect(told.pass('Africa', 50, { probe: 'second', arrives: 101 })).toEqual([]);
  });
});

describe('what is kept of an incident', () => {
  test('rule 8: when it opens, nothing is known of it but its first failure', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    const { matrix, ...progress } = told.state().incident?.progress ?? { matrix: null };
    expect(progress).toEqual({
      ...{ refuted: false, below_since: null, run: 0, run_at: at(10), asked_at: at(10.1), past_at: 0, alerted: false, told_alone: false },
      sampling: { since: at(10.1), next_at: at(15.1), turn: 0 },
      ...{ failed: ['Europe'], passed: [], asked: ['Asia', 'Europe'] },
    });
    expect(matrix?.waiting).toEqual(['Asia']);
    const past = story(['Europe', 'Asia']);
    past.fail('Europe', 10, { handed_over: true, arrives: 30 });
    expect(past.state().incident?.progress).toMatchObject({ matrix: null, asked_at: 0, past_at: at(30) });
  });

  test('rule 17: nothing ends before it began, whatever a clock says', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10, { arrives: 8 });
    told.tell({ is: 'paused', at: at(9) }, 9);
    expect(told.incidents()).toMatchObject([{ started_at: at(10), resolved_at: at(10) }]);
  });

  test('rule 12: nothing ends before it was confirmed', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.fail('Asia', 40);
    told.pass('Europe', 35, { probe: 'second', arrives: 41 });
    told.pass('Africa', 36, { arrives: 42 });
    expect(told.incidents()).toMatchObject([{ confirmed_at: at(40), resolved_at: at(40) }]);
  });

  test('probes that have long not checked are forgotten after ten turns, but not while an incident is open', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 10, { probe: 'old' });
    told.pass('Europe', 20);
    told.pass('Asia', 30);
    const known = () => told.state().views.map(({ from }) => from.probe);
    told.pass('Europe', 1210);
    expect(known()).toHaveLength(3);
    told.pass('Europe', 1210.001);
    expect(known()).toEqual(['probe-Europe', 'probe-Asia']);
    // As many as there are continents are no burden.
    told.pass('Europe', 9_000);
    expect(known()).toHaveLength(2);
    told.pass('Europe', 9_001, { probe: 'new' });
    expect(known()).toEqual(['probe-Europe', 'new']);
    told.fail('Asia', 9_002);
    told.fail('Asia', 20_000);
    expect(known()).toHaveLength(3);
  });
});

describe('rules 4 and 25: a "down" is raised', () => {
  const twoSee = (arrives: number, watched: Parameters<typeof story>[1] = {}) => {
    const told = story(['Europe', 'Asia'], watched);
    told.fail('Europe', 10, { arrives });
    told.fail('Asia', 11, { arrives });
    return told;
  };

  test('when what is known reaches to now: an interval, a time limit and what results take', () => {
    expect(twoSee(11 + 60 + 10 + 15).effects('alert')).toHaveLength(1);
    expect(twoSee(11 + 60 + 10 + 15.001).effects('alert')).toEqual([]);
  });

  test('due so long after the confirmation as the monitor says', () => {
    expect(twoSee(12, { alert_after_ms: 300_000 }).effects('alert')).toMatchObject([{ due_at: at(311) }]);
  });

  test('when the past has been told and two still see it; one that passes by then keeps it back', () => {
    const past = { handed_over: true, arrives: 30 };
    for (const passes of [false, true]) {
      const told = story(['Europe', 'Asia']);
      told.fail('Europe', 10, past);
      told.fail('Asia', 11, past);
      if (passes) told.pass('Asia', 20, past);
      expect(told.effects('alert')).toEqual([]);
      told.tick(31);
      expect(told.effects('alert')).toHaveLength(passes ? 0 : 1);
      told.tick(32);
      expect(told.effects('alert')).toHaveLength(passes ? 0 : 1);
    }
  });

  test('rule 14: by the only continent alone', () => {
    const past = { handed_over: true, arrives: 30 };
    const told = story(['Europe']);
    for (const second of [10, 15, 20]) told.fail('Europe', second, past);
    told.tick(31);
    expect(told.effects('alert')).toHaveLength(1);
    const over = story(['Europe']);
    for (const second of [10, 15, 20]) over.fail('Europe', second, past);
    over.pass('Europe', 25, past);
    over.tick(31);
    expect(over.effects('alert')).toEqual([]);
  });
});
