import { describe, expect, test } from 'vitest';
import type { SeenBeat } from '../../../coordinator/domain/incident-types.ts';
import { at, story } from './story.ts';

/** Rule 20: beats and judgements of a heartbeat, on the lines that the rule draws. */

const heartbeat = () => story(['Europe', 'Asia'], { kind: 'heartbeat', interval_ms: 300_000, sampled: false });
const beat = (second: number, is: SeenBeat['is'] = 'good', covers = 360): { is: 'beat'; beat: SeenBeat } => ({
  is: 'beat',
  beat: { at: at(second), is, covers_until: at(second + covers), cause: { class: 'heartbeat_failed', params: {} }, evidence: null },
});
const judged = (params: Readonly<Record<string, number>>) => ({ cause: { class: 'heartbeat_late', params } });

describe('rule 20: a judgement', () => {
  const opens = (params: Readonly<Record<string, number>>) => {
    const told = heartbeat();
    told.tell(beat(300), 300);
    told.fail('Europe', 400, judged(params));
    return told.incidents().length === 1;
  };

  test('is void when it counts from an older beat than the newest good one, or its deadline was before that', () => {
    expect(opens({ after: at(299.999) })).toBe(false);
    expect(opens({ after: at(300) })).toBe(true);
    expect(opens({ deadline: at(299.999) })).toBe(false);
    expect(opens({ deadline: at(300) })).toBe(true);
    expect(opens({ after: at(0), deadline: at(360) })).toBe(false);
    expect(opens({})).toBe(true);
  });

  test('stands where no beat is known, or it names no cause', () => {
    const never = heartbeat();
    never.fail('Europe', 400, judged({ after: at(0), deadline: at(300) }));
    expect(never.incidents()).toHaveLength(1);
    const silent = heartbeat();
    silent.tell(beat(300), 300);
    silent.fail('Europe', 400, { cause: null });
    expect(silent.incidents()).toHaveLength(1);
  });

  test('that all is well is void to nobody', () => {
    const told = heartbeat();
    told.tell(beat(300), 300);
    told.pass('Europe', 400, judged({ after: at(0) }));
    expect(told.state().views).toHaveLength(1);
  });
});

describe('rule 20: a good beat', () => {
  test('takes back what was judged before it, and leaves what passed and what failed after it', () => {
    const told = heartbeat();
    told.tell(beat(0), 0);
    told.pass('Asia', 350);
    told.fail('Europe', 400, judged({ deadline: at(360) }));
    told.tell(beat(360), 401);
    expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Asia']);
    told.fail('Europe', 730, judged({ deadline: at(720) }));
    told.tell(beat(719.999), 731);
    expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Asia', 'Europe']);
  });

  test('that is not newer than the newest changes nothing but what is covered', () => {
    const told = heartbeat();
    told.tell(beat(300), 300);
    told.tell(beat(310, 'bad'), 310);
    const before = told.state();
    for (const second of [300, 200]) expect(told.tell(beat(second), 320)).not.toContainEqual(expect.objectContaining({ is: 'incident' }));
    expect(told.state().incident).toEqual(before.incident);
    expect(told.state().beat_at).toBe(at(300));
  });

  test('closes what began with it or before; what the target told of later stays, and what was late only for us ends where it began', () => {
    const together = heartbeat();
    together.tell(beat(300, 'bad'), 300);
    together.tell(beat(300), 301);
    expect(together.incidents()).toMatchObject([{ resolved_at: at(300), note: null }]);
    const told = heartbeat();
    told.tell(beat(300, 'bad'), 300);
    told.tell(beat(299), 301);
    expect(told.incidents()).toMatchObject([{ resolved_at: null }]);
    const late = heartbeat();
    late.fail('Europe', 400, judged({ deadline: at(360) }));
    late.tell(beat(355), 401);
    expect(late.incidents()).toMatchObject([{ resolved_at: at(360), note: 'the beat had come in time and reached us late' }]);
    expect(late.effects('look').at(-1)).toMatchObject({ why: 'recovery', continents: ['Asia', 'Europe'] });
  });

  test('moves the clock forward and never back', () => {
    const told = heartbeat();
    told.tell(beat(300), 300);
    expect(told.state().clock).toBe(at(300));
    told.pass('Europe', 500);
    told.tell(beat(400), 501);
    expect(told.state()).toMatchObject({ clock: at(500), beat_at: at(400) });
  });

  test('covers until its deadline, and nothing when that has come', () => {
    const told = heartbeat();
    told.tell(beat(0, 'good', 100), 0);
    expect(told.state().covered_until).toBe(at(100));
    expect(told.tell(beat(200, 'good', 0), 200)).toEqual([]);
    expect(told.state()).toMatchObject({ covered_until: at(100), gaps: [] });
  });
});

describe('rule 20: a bad beat', () => {
  test('is heard unless a good one is newer; one as old counts', () => {
    for (const [second, opens] of [
      [299.999, 0],
      [300, 1],
    ] as const) {
      const told = heartbeat();
      told.tell(beat(300), 300);
      told.tell(beat(second, 'bad'), 301);
      expect(told.incidents()).toHaveLength(opens);
    }
  });

  test('is one outage with the next, and confirms what a probe has seen so far', () => {
    const twice = heartbeat();
    twice.tell(beat(300, 'bad'), 300);
    expect(twice.tell(beat(310, 'bad', 0), 310)).toEqual([]);
    const seen = heartbeat();
    seen.fail('Europe', 400, judged({ deadline: at(360) }));
    seen.tell(beat(410, 'bad'), 410);
    expect(seen.incidents()).toMatchObject([
      { started_at: at(360), confirmed_at: at(410), seen: { continent: 'Europe' }, confirmed: null },
    ]);
    expect(seen.effects('alert')).toHaveLength(1);
  });

  test('rules 17 and 20: decides nothing while it is paused, or from before it was resumed, nor does a mark ever', () => {
    const told = heartbeat();
    told.tell({ is: 'paused', at: at(10) }, 10);
    told.tell(beat(20, 'bad'), 20);
    told.tell({ is: 'resumed', at: at(30) }, 30);
    told.tell(beat(29.999, 'bad'), 31);
    told.tell(beat(35, 'mark'), 35);
    expect(told.incidents()).toEqual([]);
    expect(told.state().covered_until).toBe(at(29.999 + 360));
    told.tell(beat(30, 'bad'), 36);
    expect(told.incidents()).toHaveLength(1);
  });
});

describe('what one decision writes of an incident', () => {
  test('is one row, which is new if the decision opened it, whatever else it did', () => {
    const told = heartbeat();
    const rows = told.tell(beat(300, 'bad'), 300).filter((effect) => effect.is === 'incident');
    expect(rows).toMatchObject([{ change: 'opened', incident: { confirmed_at: at(300), progress: { alerted: true } } }]);
    const closing = told.tell(beat(400), 400).filter((effect) => effect.is === 'incident');
    expect(closing).toMatchObject([{ change: 'closed', incident: { resolved_at: at(400) } }]);
  });
});

describe('rule 15: the scope', () => {
  const open = () => {
    const told = story(['Europe', 'Asia', 'Africa', 'Oceania']);
    told.fail('Europe', 10);
    return told;
  };
  const scope = (told: ReturnType<typeof story>) => told.incidents().at(-1)?.scope;

  test('counts passes from its beginning until a minute after it was confirmed', () => {
    for (const [second, expected] of [
      [9.999, 'everywhere'],
      [10, 'some_continents'],
      [71, 'some_continents'],
      [71.001, 'everywhere'],
    ] as const) {
      const told = open();
      told.fail('Asia', 11);
      told.pass('Africa', second, { arrives: 80 });
      expect(scope(told)).toBe(expected);
    }
  });

  test('counts a pass of much later while it is not confirmed, and each continent once', () => {
    const told = open();
    told.pass('Africa', 300);
    told.pass('Africa', 301);
    expect(told.state().incident?.progress.passed).toEqual(['Africa']);
    expect(scope(told)).toBe('one_continent');
  });

  test('of what failed and passed is what failed', () => {
    const told = open();
    told.fail('Asia', 11);
    told.pass('Asia', 12);
    expect(scope(told)).toBe('everywhere');
    told.pass('Africa', 13);
    expect(scope(told)).toBe('some_continents');
    told.fail('Africa', 14);
    expect(scope(told)).toBe('everywhere');
  });
});
