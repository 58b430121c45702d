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
    for (const second of [200, 300]) expect(told.tell(beat(second), 320)).not.toContainEqual(expect.objectContaining({ is: 'incident' }));
    expect(told.state().incident).toEqual(before.incident);
    expect(told.state().beat_at).toBe(at(300));
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
