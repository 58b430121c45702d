import { describe, expect, test } from 'vitest';
import { uptime } from '../../../coordinator/core/uptime.ts';
import { countsAs } from '../../../coordinator/core/views.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, refused, rosterOf, story } from './story.ts';

describe('decide results', () => {
  describe('rule 1: unknown is the probe’s own fault', () => {
    test('rule 1: an unknown opens nothing', () => {
      const told = story();
      told.result('unknown', 'Europe', 10);
      expect(told.incidents()).toEqual([]);
      expect(told.effects('look')).toEqual([]);
    });

    test('rule 1: an unknown confirms nothing', () => {
      const told = story();
      told.fail('Europe', 10);
      told.result('unknown', 'Asia', 10.5);
      expect(told.state().incident?.confirmed_at).toBeNull();
    });

    test('rule 1: an unknown closes nothing, neither a lonely failure nor an outage', () => {
      const told = story();
      told.fail('Europe', 10);
      told.result('unknown', 'Europe', 20);
      expect(told.state().incident?.resolved_at).toBeNull();
      told.fail('Asia', 21);
      told.result('unknown', 'Europe', 30);
      told.result('unknown', 'Asia', 31);
      expect(told.state().incident?.confirmed_at).toBe(at(21));
    });

    test('rule 1: a result from the future is the probe’s clock, and decides nothing', () => {
      const told = story();
      told.fail('Europe', 70, { arrives: 10 });
      expect(told.incidents()).toEqual([]);
    });
  });

  test('rules 1 and 16: what is stored of a quarantined probe or a wrong clock is unknown', () => {
    const result = { outcome: 'fail', quarantined: false, at: at(10) } as const;
    expect(countsAs(result, at(10))).toBe('fail');
    expect(countsAs(result, at(4))).toBe('unknown');
    expect(countsAs({ ...result, quarantined: true }, at(10))).toBe('unknown');
  });

  describe('rule 3: repeats, order and versions', () => {
    test('rule 3: a repeat changes nothing', () => {
      const told = story();
      told.fail('Europe', 10);
      const before = told.state();
      expect(told.fail('Europe', 10)).toEqual([]);
      expect(told.state()).toEqual(before);
    });

    test('rule 3: a failure older than its probe’s newest pass goes to the charts only', () => {
      const told = story();
      told.pass('Europe', 20);
      told.fail('Europe', 10, { arrives: 21 });
      expect(told.incidents()).toEqual([]);
    });

    test('rule 3: a pass older than its probe’s newest failure closes nothing', () => {
      const told = story();
      told.fail('Europe', 20);
      told.pass('Europe', 10, { arrives: 21 });
      expect(told.state().incident?.resolved_at).toBeNull();
    });

    test('rule 3: while unconfirmed, an older failure of the same probe moves the beginning back', () => {
      const told = story();
      told.fail('Europe', 20);
      told.fail('Europe', 10, { arrives: 21 });
      expect(told.incidents()).toMatchObject([{ started_at: at(10), seen: { name: 'europe' } }]);
      expect(told.effects('evidence').at(-1)?.row).toMatchObject({
        part: 'seen',
        evidence: { second: 10 },
      });
    });

    test('rule 3: an older failure of another continent moves beginning and seen_from back, and the two confirm each other', () => {
      const told = story();
      told.fail('Europe', 20);
      told.fail('Asia', 18, { arrives: 21 });
      expect(told.incidents()).toMatchObject([
        {
          started_at: at(18),
          seen: { continent: 'Asia' },
          confirmed_at: at(20),
          confirmed: { continent: 'Europe' },
        },
      ]);
    });

    test('rule 3: the beginning does not move back across a pass of the same continent', () => {
      const told = story();
      told.pass('Europe', 15);
      told.fail('Europe', 20);
      told.fail('Europe', 10, { probe: 'second', arrives: 21 });
      expect(told.incidents()).toMatchObject([{ started_at: at(20) }]);
    });

    test('rule 3: results of an older config version go to the charts only', () => {
      const told = story(['Europe', 'Asia'], { config_version: 2 });
      told.fail('Europe', 20, { config_version: 1 });
      told.fail('Asia', 20, { config_version: 1 });
      expect(told.incidents()).toEqual([]);
    });
  });

  describe('rule 4: the past is decided as the past', () => {
    test('rule 4: a past outage seen from two continents is recorded, resolved, not alerted as one of now, and told late once', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      const past = { handed_over: true, arrives: 3600 };
      for (const place of ['Europe', 'Asia'] as const)
        told.fail(place, place === 'Europe' ? 100 : 160, past);
      told.fail('Europe', 280, past);
      told.pass('Asia', 340, past);
      told.pass('Africa', 400, past);
      told.pass('Europe', 460, past);
      told.tick(3600);
      expect(told.incidents()).toMatchObject([
        { started_at: at(100), confirmed_at: at(160), resolved_at: at(340) },
      ]);
      expect(told.effects('alert')).toEqual([
        { is: 'alert', event: 'was_down', incident: told.incidents()[0]?.id, due_at: at(160) },
      ]);
      expect(told.effects('look')).toEqual([]);
    });

    test.each([
      ['that was over before it was due', { alert_after_ms: 200_000 }, 3_600],
      ['of the day before', {}, 90_000],
    ])('rule 4: an outage %s is not told late', (_, watched, arrives) => {
      const told = story(['Europe', 'Asia'], watched);
      const past = { handed_over: true, arrives };
      told.fail('Europe', 100, past);
      told.fail('Asia', 160, past);
      told.pass('Asia', 340, past);
      told.pass('Europe', 350, past);
      told.tick(arrives);
      expect(told.incidents()).toMatchObject([{ confirmed_at: at(160), resolved_at: at(340) }]);
      expect(told.effects('alert')).toEqual([]);
    });

    test('rule 4: an outage that began in the absence and still lasts is dated right and alerted when the past has been decided', () => {
      const told = story();
      const past = { handed_over: true, arrives: 200 };
      told.fail('Europe', 100, past);
      told.fail('Asia', 160, past);
      expect(told.effects('alert')).toEqual([]);
      told.tick(200);
      expect(told.incidents()).toMatchObject([
        { started_at: at(100), confirmed_at: at(160), resolved_at: null },
      ]);
      expect(told.effects('alert')).toMatchObject([{ event: 'down', due_at: at(160) }]);
    });

    test('rule 4: a past that comes in pieces is not cut by a tick between them', () => {
      const told = story();
      told.fail('Europe', 100, { handed_over: true, arrives: 3600 });
      told.tick(3600);
      told.fail('Asia', 160, { handed_over: true, arrives: 3600.1 });
      expect(told.incidents()).toMatchObject([{ started_at: at(100), confirmed_at: at(160) }]);
    });

    test('rule 4: a lonely failure of the past that no probe observed since lapses once the past has been decided', () => {
      const told = story();
      told.fail('Europe', 100, { handed_over: true, arrives: 3600 });
      told.tick(3604.9);
      expect(told.state().incident).not.toBeNull();
      told.tick(3605);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(340), note: 'no longer observed' },
      ]);
    });

    test('rules 4 and 11: however much past arrives at once, a lonely failure lapses two turns after its continent last reported', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Europe', 190);
      told.network(rosterOf(['Europe', 'Asia', 'Africa'], ['Europe']));
      for (let second = 250; second < 1600; second += 60)
        told.pass(second % 120 === 10 ? 'Asia' : 'Africa', second, {
          handed_over: true,
          arrives: 1600,
        });
      told.tick(1606);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), resolved_at: at(190 + 240), note: 'no longer observed' },
      ]);
    });

    test('rules 4 and 10: passes that another continent kept refute a lonely failure, so that the outage seen by both is another matter', () => {
      const told = story();
      for (const second of [10, 70, 130, 190, 250]) told.fail('Europe', second);
      for (const second of [60, 120, 180])
        told.pass('Asia', second, { handed_over: true, arrives: 280 });
      told.fail('Asia', 290);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), confirmed_at: null, note: 'seen from one continent only' },
        { started_at: at(250), confirmed_at: at(290), confirmed: { continent: 'Asia' } },
      ]);
    });

    test('rule 4: while what was decided does not reach to now, nothing is alerted', () => {
      const told = story();
      told.fail('Europe', 100, { arrives: 220 });
      told.fail('Asia', 101, { arrives: 220 });
      expect(told.state().incident?.confirmed_at).toBe(at(101));
      expect(told.effects('alert')).toEqual([]);
      told.fail('Europe', 221);
      expect(told.effects('alert')).toMatchObject([{ event: 'down' }]);
    });

    test('rule 9: a failure of now asks all others, however recently one of the past asked none', () => {
      const told = story(['Europe', 'Asia'], { interval_ms: 10_000 });
      told.fail('Europe', 100, { handed_over: true, arrives: 145 });
      told.tick(145);
      expect(told.effects('look')).toEqual([]);
      told.fail('Europe', 144.9, { arrives: 145.1 });
      expect(told.effects('look').at(-1)).toMatchObject({ places: ['Asia'], why: 'again' });
    });

    test('rule 4: a lonely failure of the past asks no probe until the past has been decided', () => {
      const told = story();
      told.fail('Europe', 190, { handed_over: true, arrives: 200 });
      expect(told.effects('look')).toEqual([]);
      expect(told.nextTick()).toBeLessThanOrEqual(at(200));
      told.tick(200);
      expect(told.effects('look')).toMatchObject([{ places: ['Asia'], why: 'first' }]);
    });
  });

  describe('rule 16: what a quarantined probe sees counts for nothing', () => {
    test('rule 16: its failures open and confirm nothing', () => {
      const told = story();
      told.fail('Europe', 10, { quarantined: true });
      expect(told.incidents()).toEqual([]);
      told.fail('Asia', 11);
      told.fail('Europe', 12, { quarantined: true });
      expect(told.state().incident?.confirmed_at).toBeNull();
    });

    test('rule 16: an incident that it alone opened closes with that reason', () => {
      const told = story();
      told.fail('Europe', 10);
      told.tell({ is: 'quarantined', at: at(30), probe: 'probe-Europe' }, 30);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(30), confirmed_at: null, note: 'the probe that saw it was quarantined' },
      ]);
    });

    test('rule 16: what another probe saw failing long ago does not keep it open', () => {
      const told = story();
      told.fail('Asia', 10, { probe: 'former' });
      told.pass('Asia', 20);
      told.fail('Europe', 1000);
      told.tell({ is: 'quarantined', at: at(1030), probe: 'probe-Europe' }, 1030);
      expect(told.state().incident).toBeNull();
    });

    test('rule 16: an outage that others saw too stays', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.tell({ is: 'quarantined', at: at(30), probe: 'probe-Europe' }, 30);
      expect(told.state().incident?.confirmed_at).toBe(at(11));
    });
  });

  describe('rule 17: what happens to the monitor closes its incident', () => {
    const down = () => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      return told;
    };

    test('rule 17: pausing closes, and who got "down" gets "closed"', () => {
      const told = down();
      told.tell({ is: 'paused', at: at(40) }, 40);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(40), note: 'the monitor was paused' },
      ]);
      expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'closed']);
      expect(told.fail('Europe', 50)).toEqual([]);
    });

    test('rule 17: an edit of what is checked closes; what the old version saw opens nothing again', () => {
      const told = down();
      const watched = { ...told.state().watched, config_version: 2 };
      told.tell({ is: 'edited', at: at(40), watched, changed: true }, 40);
      told.fail('Europe', 41, { config_version: 1 });
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(40), note: 'what is checked was changed' },
      ]);
      told.fail('Europe', 42);
      expect(told.incidents()).toHaveLength(2);
    });

    test('rule 17: an edit of anything else leaves it open', () => {
      const told = down();
      told.tell(
        {
          is: 'edited',
          at: at(40),
          watched: { ...told.state().watched, alert_after_ms: 5000 },
          changed: false,
        },
        40,
      );
      expect(told.state().incident?.confirmed_at).toBe(at(11));
    });

    test('rule 17: deleting closes', () => {
      const told = down();
      told.tell({ is: 'deleted', at: at(40) }, 40);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(40), note: 'the monitor was deleted' },
      ]);
    });

    test('rule 17: recipients who got no "down" get no "closed"', () => {
      const told = story();
      told.fail('Europe', 10);
      told.tell({ is: 'paused', at: at(40) }, 40);
      expect(told.effects('alert')).toEqual([]);
    });

    test('rule 17: after a pause nothing from before it decides', () => {
      const told = down();
      told.tell({ is: 'paused', at: at(40) }, 40);
      told.tell({ is: 'resumed', at: at(100) }, 100);
      told.fail('Asia', 39, { arrives: 101 });
      expect(told.state().incident).toBeNull();
      told.pass('Asia', 102);
      expect(
        told
          .effects('ledger')
          .filter(({ kind }) => kind === 'paused')
          .flatMap(({ put }) => put),
      ).toEqual([
        { began_at: at(40), ended_at: null, interval_ms: 60_000 },
        { began_at: at(40), ended_at: at(100), interval_ms: 60_000 },
      ]);
    });

    test('rule 17: there is at most one open incident whatever comes', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.network(rosterOf(['Europe', 'Asia', 'Africa'], ['Africa']));
      for (let second = 0; second < 600; second += 7)
        told.result(
          second % 3 === 0 ? 'ok' : 'fail',
          second % 2 === 0 ? 'Europe' : 'Asia',
          second,
          { cause: refused },
        );
      expect(
        told.incidents().filter(({ resolved_at }) => resolved_at === null).length,
      ).toBeLessThanOrEqual(1);
    });
  });
});

/**
 * What a probe that was lost hands over when it is back (rules 3, 4, 22 and 24): nobody waited for
 * it, so it is judged by its own order, dates what is still open, changes nothing that is over,
 * alerts nobody, and turns unknown time into what it saw.
 */
describe('a lost probe hands over its backlog', () => {
  const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
  const late = { handed_over: true } as const;

  test('rule 3: failures before those of an unconfirmed incident are its beginning, and the two confirm each other', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.pass('Africa', 101);
    told.fail('Europe', 95, { ...late, arrives: 150 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(95), seen: { continent: 'Europe' }, confirmed_at: at(100) },
    ]);
  });

  test('rule 3: failures before those of a confirmed incident are its beginning, and the first of them that two saw confirmed it', () => {
    const told = story(places);
    told.fail('Asia', 100);
    told.fail('Africa', 101);
    told.fail('Europe', 90, { ...late, arrives: 150 });
    told.fail('Europe', 105, { ...late, arrives: 150 });
    told.pass('Europe', 149, { arrives: 150 });
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(90),
        seen: { continent: 'Europe' },
        confirmed_at: at(100),
        confirmed: { continent: 'Asia' },
        resolved_at: null,
      },
    ]);
    // What it saw counts for the scope all the same.
    expect(told.incidents()[0]?.scope).toBe('everywhere');
  });

  test('rules 3 and 24: an outage that others confirmed and saw end stays as it was, and sends no further alert', () => {
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
    expect(outage).toMatchObject({
      started_at: at(100),
      confirmed_at: at(101),
      resolved_at: at(200),
    });
    expect(
      others.every(
        ({ confirmed_at, resolved_at }) => confirmed_at === null && resolved_at !== null,
      ),
    ).toBe(true);
    expect(told.effects('alert')).toHaveLength(alerts);
    expect(told.effects('look').filter(({ why }) => why === 'first')).toHaveLength(1);
  });

  test('rules 3 and 24: its failures from an outage that is over are an unconfirmed incident, with its own evidence, and the downtime counts once', () => {
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
      {
        started_at: at(150),
        confirmed_at: null,
        resolved_at: at(220),
        seen: { continent: 'Europe' },
        scope: 'one_continent',
      },
    ]);
    expect(told.effects('evidence').at(-1)?.row).toMatchObject({
      part: 'seen',
      continent: 'Europe',
      at: at(150),
    });
    const down = [{ from: at(100), to: at(200) }];
    const window = { from: at(0), to: at(300) };
    const none = { created_at: at(0), paused: [], cover: [], unknown: [] };
    expect(uptime({ ...none, window, down: [...down, { from: at(150), to: at(200) }] })).toEqual(
      uptime({ ...none, window, down }),
    );
  });

  test('rule 8: what it alone saw failing is an incident that its own pass has ended by then, and confirms nothing', () => {
    const told = story(places);
    for (const second of [20, 200]) told.pass('Asia', second);
    for (const second of [80, 260]) told.pass('Africa', second);
    told.fail('Europe', 100, { ...late, arrives: 280 });
    told.pass('Europe', 160, { ...late, arrives: 280 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(100), confirmed_at: null, resolved_at: at(160) },
    ]);
    expect(told.effects('alert')).toEqual([]);
    expect(told.effects('look')).toEqual([]);
  });

  test('rule 22: time that no other probe covered is unknown until the backlog comes, and is then covered', () => {
    const told = story(['Europe']);
    told.pass('Europe', 0);
    told.tick(300);
    expect(told.state().gaps).toMatchObject([{ from: at(130), to: null }]);
    for (let second = 60; second < 600; second += 60)
      told.pass('Europe', second, { ...late, arrives: 600 });
    expect(told.state().gaps).toEqual([]);
    expect(told.effects('ledger').at(-1)?.drop).toContain(at(130));
  });
});
