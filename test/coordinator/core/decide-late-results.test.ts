import { describe, expect, test } from 'vitest';
import { uptime } from '../../../coordinator/core/uptime.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, story } from './story.ts';

/**
 * What a probe that was lost hands over when it is back (rules 3, 4, 22 and 24): nobody waited for it, so it is judged by its own order, dates
 * what is still open, changes nothing that is over, alerts nobody, and turns unknown time into what it saw.
 */

const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
const late = { handed_over: true } as const;

describe('a probe that was lost hands over what it saw', () => {
  test('rule 3: failures before those of an unconfirmed incident are its beginning, and the two confirm each other', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.pass('Africa', 101);
    told.fail('Europe', 95, { ...late, arrives: 150 });
    expect(told.incidents()).toMatchObject([{ started_at: at(95), seen: { continent: 'Europe' }, confirmed_at: at(100) }]);
  });

  test('rule 3: failures before those of a confirmed incident are its beginning, and the first of them that two saw confirmed it', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.fail('Africa', 101);
    told.fail('Europe', 90, { ...late, arrives: 150 });
    told.fail('Europe', 105, { ...late, arrives: 150 });
    told.pass('Europe', 149, { arrives: 150 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(90), seen: { continent: 'Europe' }, confirmed_at: at(100), confirmed: { continent: 'Asia' }, resolved_at: null },
    ]);
    // What it saw counts for the scope all the same.
    expect(told.incidents()[0]?.scope).toBe('everywhere');
  });

  test('rules 3 and 24: an outage that others confirmed and saw end stays as it was, and nobody is told of it again', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.fail('Africa', 101);
    told.pass('Asia', 200);
    told.pass('Africa', 201);
    const alerts = told.effects('alert').length;
    for (const second of [90, 140, 190]) told.fail('Europe', second, { ...late, arrives: 1_000 });
    told.pass('Europe', 240, { ...late, arrives: 1_000 });
    told.pass('Europe', 990, { arrives: 1_000 });
    const [outage, ...others] = told.incidents();
    expect(outage).toMatchObject({ started_at: at(100), confirmed_at: at(101), resolved_at: at(200) });
    expect(others.every(({ confirmed_at, resolved_at }) => confirmed_at === null && resolved_at !== null)).toBe(true);
    expect(told.effects('alert')).toHaveLength(alerts);
    expect(told.effects('look').filter(({ why }) => why === 'first')).toHaveLength(1);
  });

  test('rules 3 and 24: what it saw of an outage that is over lies beside it, lonely, with its own evidence, and the time down counts once', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.fail('Africa', 101);
    told.pass('Asia', 200);
    told.pass('Africa', 201);
    const over = told.incidents()[0];
    told.fail('Europe', 150, { ...late, arrives: 280 });
    told.pass('Europe', 220, { ...late, arrives: 280 });
    expect(told.incidents()).toMatchObject([
      { ...over, resolved_at: at(200) },
      { started_at: at(150), confirmed_at: null, resolved_at: at(220), seen: { continent: 'Europe' }, scope: 'one_continent' },
    ]);
    expect(told.effects('evidence').at(-1)?.row).toMatchObject({ part: 'seen', continent: 'Europe', at: at(150) });
    const down = [{ from: at(100), to: at(200) }];
    const window = { from: at(0), to: at(300) };
    const none = { created_at: at(0), paused: [], cover: [], unknown: [] };
    expect(uptime({ ...none, window, down: [...down, { from: at(150), to: at(200) }] })).toEqual(uptime({ ...none, window, down }));
  });

  test('rule 8: what it alone saw failing is an incident that its own pass has ended by then, and confirms nothing', () => {
    const told = story(places);
    for (const second of [20, 200]) told.pass('Asia', second);
    for (const second of [80, 260]) told.pass('Africa', second);
    told.fail('Europe', 100, { ...late, arrives: 280 });
    told.pass('Europe', 160, { ...late, arrives: 280 });
    expect(told.incidents()).toMatchObject([{ started_at: at(100), confirmed_at: null, resolved_at: at(160) }]);
    expect(told.effects('alert')).toEqual([]);
    expect(told.effects('look')).toEqual([]);
  });

  test('rule 22: time that nobody else had seen is unknown until it comes, and then is what it saw', () => {
    const told = story(['Europe']);
    told.pass('Europe', 0);
    told.tick(300);
    expect(told.state().gaps).toMatchObject([{ from: at(130), to: null }]);
    for (let second = 60; second < 600; second += 60) told.pass('Europe', second, { ...late, arrives: 600 });
    expect(told.state().gaps).toEqual([]);
    expect(told.effects('ledger').at(-1)?.drop).toContain(at(130));
  });
});
