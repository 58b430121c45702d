import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, restore } from '../../../coordinator/core/lifecycle.ts';
import { at, inTime, refused, rosterOf, story } from './story.ts';

/** Whom the core asks, when, and how often: sampling, and what was asked before a restart. */

const rechecksOf = (effects: ReturnType<ReturnType<typeof story>['tick']>) =>
  effects.flatMap((effect) => (effect.is === 'look' ? [[effect.why, ...effect.continents]] : []));

describe('rule 13: sampling', () => {
  test('goes round the continents, one every five seconds', () => {
    const told = story(['Africa', 'Asia', 'Europe']);
    told.fail('Europe', 10);
    expect(rechecksOf(told.tick(15))).toEqual([]);
    const asked = [15.1, 20.1, 25.1, 30.1].flatMap((second) => rechecksOf(told.tick(second)));
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
    expect([15.1, 20.1, 25.1].flatMap((second) => rechecksOf(told.tick(second)))).toEqual(Array(3).fill(['sample', 'Europe']));
    told.network(rosterOf(['Europe'], ['Europe']));
    expect(rechecksOf(told.tick(30.1))).toEqual([]);
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
    expect(rechecksOf(told.tick(15.1))).toEqual([['sample', 'Europe']]);
    told.fail('Europe', 15.2);
    expect(rechecksOf(told.tick(20.1))).toEqual([['sample', 'Europe']]);
    told.fail('Europe', 20.2);
    expect(told.state().incident?.confirmed_at).toBe(at(20.2));
    told.tick(25.1);
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
    told.pass('Europe', 60);
    expect(rechecksOf(told.tick(65))).toEqual([]);
    expect(rechecksOf(told.tick(65.1))).toEqual([['sample', 'Europe']]);
    expect(rechecksOf(told.tick(70.1))).toEqual([['sample', 'Europe']]);
    told.pass('Europe', 70.2);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(60) }]);
  });

  test('rule 14: where others may check too, a method that is not sampled is never looked at by itself', () => {
    const told = story(['Europe', 'Asia'], { sampled: false });
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Europe', 20);
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
    expect(rechecksOf(told.tick(30))).toEqual([]);
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
    told.tell({ is: 'ping', ping: { ...inTime(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null } }, 10);
    expect(told.state().incident).toMatchObject({ confirmed_at: at(10), progress: { sampling: { next_at: null }, below_since: null } });
  });

  test('what the target itself told of is asked of nobody', () => {
    const told = story(['Europe', 'Asia'], { kind: 'heartbeat' });
    told.tell({ is: 'ping', ping: { ...inTime(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null } }, 10);
    expect(asked(restarted(told), 20).why).toEqual([]);
  });
});
