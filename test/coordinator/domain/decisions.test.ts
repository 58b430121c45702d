import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/domain/decide.ts';
import { checkpointOf, restore } from '../../../coordinator/domain/restore.ts';
import { at, refused, rosterOf, story } from './story.ts';

/** The narrow places of the core: what lies exactly on a line, what must change nothing, and who is asked when. */

const looksOf = (effects: ReturnType<ReturnType<typeof story>['tick']>) =>
  effects.flatMap((effect) => (effect.is === 'look' ? [[effect.why, ...effect.continents]] : []));

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
    told.fail('Europe', 259.999);
    expect(told.incidents()).toEqual([]);
    told.fail('Europe', 260);
    expect(told.incidents()).toMatchObject([{ started_at: at(260) }]);
  });

  test('rule 3: nor does one older than what another probe of its continent has seen', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 100, { probe: 'second' });
    told.fail('Europe', 90);
    expect(told.incidents()).toEqual([]);
    told.fail('Europe', 110);
    told.pass('Europe', 105, { probe: 'second' });
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
      ...{ failed: ['Europe'], passed: [] },
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

describe('rule 13: sampling', () => {
  test('goes round the continents, one every five seconds', () => {
    const told = story(['Africa', 'Asia', 'Europe']);
    told.fail('Europe', 10);
    expect(looksOf(told.tick(15))).toEqual([]);
    const asked = [15.1, 20.1, 25.1, 30.1].flatMap((second) => looksOf(told.tick(second)));
    expect(asked).toEqual([
      ['sample', 'Africa'],
      ['sample', 'Asia'],
      ['sample', 'Europe'],
      ['sample', 'Africa'],
    ]);
  });

  test('asks the only one each time, and nobody where nobody is able', () => {
    const told = story(['Europe']);
    told.fail('Europe', 10);
    expect([15.1, 20.1, 25.1].flatMap((second) => looksOf(told.tick(second)))).toEqual(Array(3).fill(['sample', 'Europe']));
    told.network(rosterOf(['Europe'], ['Europe']));
    expect(looksOf(told.tick(30.1))).toEqual([]);
  });

  test('begins anew with the confirmation when it had ended before', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    for (let second = 11; second < 640; second += 1) {
      if (second % 60 === 10) told.fail('Europe', second);
      told.tick(second + 0.5);
    }
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
    told.fail('Asia', 650);
    expect(told.state().incident?.progress).toMatchObject({
      sampling: { since: at(650.1), next_at: at(655.1) },
      run: 0,
      below_since: null,
    });
  });

  test('rule 14: a method that is not sampled is looked at while a lone continent has not decided, and no longer', () => {
    const told = story(['Europe'], { sampled: false });
    told.fail('Europe', 10);
    expect(looksOf(told.tick(15.1))).toEqual([['sample', 'Europe']]);
    told.fail('Europe', 15.2);
    expect(looksOf(told.tick(20.1))).toEqual([['sample', 'Europe']]);
    told.fail('Europe', 20.2);
    expect(told.state().incident?.confirmed_at).toBe(at(20.2));
    told.tick(25.1);
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
    told.pass('Europe', 60);
    expect(looksOf(told.tick(65.1))).toEqual([['sample', 'Europe']]);
    expect(looksOf(told.tick(70.1))).toEqual([['sample', 'Europe']]);
    told.pass('Europe', 70.2);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(60) }]);
  });

  test('rule 14: where others may check too, a method that is not sampled is never looked at by itself', () => {
    const told = story(['Europe', 'Asia'], { sampled: false });
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Europe', 20);
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
    expect(looksOf(told.tick(30))).toEqual([]);
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

describe('after a restart', () => {
  const restarted = (told: ReturnType<typeof story>) => {
    const { watched, incident, gaps } = told.state();
    return restore({ watched, checkpoint: checkpointOf(told.state()), results: [], resumed_at: null, incident, gaps });
  };
  const asked = (state: ReturnType<typeof restarted>, second: number) => {
    const moment = { now: at(second), network: rosterOf(['Europe', 'Asia']), newId: () => 'look' };
    const { state: after, effects } = decide(state, { is: 'tick' }, moment);
    return { after, why: effects.flatMap((effect) => (effect.is === 'look' && effect.why !== 'sample' ? [effect.why] : [])) };
  };

  test('rule 9: a question is asked once, however many ticks follow', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    const first = asked(restarted(told), 20);
    expect(first.why).toEqual(['again']);
    expect(asked(first.after, 25).why).toEqual([]);
  });

  test('rule 9: one that the past opened is asked about for the first time, a confirmed one again', () => {
    const past = { handed_over: true, arrives: 30 };
    const lonely = story(['Europe', 'Asia']);
    lonely.fail('Europe', 10, past);
    expect(asked(restarted(lonely), 31).why).toEqual(['first']);
    lonely.fail('Asia', 11, past);
    const { after, why } = asked(restarted(lonely), 31);
    expect(why).toEqual(['first']);
    expect(after.restored).toBe(false);
    expect(asked({ ...lonely.state(), restored: false }, 31).why).toEqual([]);
  });

  test('rule 9: also when nothing is left of what was seen, but not about what is long ago', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    const { watched, incident, gaps } = told.state();
    const bare = restore({ watched, checkpoint: null, results: [], resumed_at: null, incident, gaps });
    expect(asked(bare, 20).why).toEqual(['again']);
    told.pass('Asia', 240);
    expect(asked(restarted(told), 250).why).toEqual(['again']);
    expect(asked(restarted(told), 250.001).why).toEqual([]);
  });

  test('rule 20: a heartbeat that the target itself told of is sampled by nobody', () => {
    const told = story(['Europe', 'Asia'], { kind: 'heartbeat' });
    told.tell({ is: 'beat', beat: { at: at(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null } }, 10);
    expect(told.state().incident).toMatchObject({ confirmed_at: at(10), progress: { sampling: { next_at: null }, below_since: null } });
  });

  test('what the target itself told of is asked of nobody', () => {
    const told = story(['Europe', 'Asia'], { kind: 'heartbeat' });
    told.tell({ is: 'beat', beat: { at: at(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null } }, 10);
    expect(asked(restarted(told), 20).why).toEqual([]);
  });
});
