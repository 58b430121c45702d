import { describe, expect, test } from 'vitest';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import { at, rosterOf, story } from './story.ts';

describe('decide incidents', () => {
  describe('rules 8 and 9: the first failure', () => {
    test('rule 8: an incident opens at once, unconfirmed, and sends no alert', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      expect(told.incidents()).toMatchObject([
        {
          started_at: at(10),
          confirmed_at: null,
          seen: { name: 'europe', continent: 'Europe' },
          confirmed: null,
          cause: { class: 'connection_refused' },
        },
      ]);
      expect(told.effects('alert')).toEqual([]);
    });

    test('rule 9: in the same moment every other continent that may check is asked to recheck', () => {
      const told = story(['Europe', 'Asia', 'Africa', 'Oceania'], {
        continents: ['Europe', 'Asia', 'Africa'],
      });
      told.fail('Europe', 10);
      expect(told.effects('look')).toMatchObject([{ places: ['Africa', 'Asia'], why: 'first' }]);
    });

    test('rule 9: lost continents are not asked', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.network(rosterOf(['Europe', 'Asia', 'Africa'], ['Africa']));
      told.fail('Europe', 10);
      expect(told.effects('look')).toMatchObject([{ places: ['Asia'] }]);
    });

    test('rule 15: the answers are the matrix, one for each continent, unknown included; what the failing check saw is the evidence', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      const recheck = told.effects('look')[0]?.look ?? null;
      told.pass('Asia', 10.3, { look: recheck });
      told.result('unknown', 'Africa', 10.4, { look: recheck });
      told.pass('Asia', 10.6, { look: recheck });
      expect(
        told.effects('evidence').map(({ row }) => [row.part, row.continent, row.outcome]),
      ).toEqual([
        ['seen', 'Europe', 'fail'],
        ['matrix', 'Asia', 'ok'],
        ['matrix', 'Africa', 'unknown'],
      ]);
      expect(told.effects('evidence')[0]?.row.evidence).toEqual({ from: 'Europe', second: 10 });
    });
  });

  describe('rule 10: confirmed from another continent', () => {
    test('rule 10: a second continent within a minute confirms, dated by its check, and alerts', () => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Asia', 10.4);
      expect(told.incidents()).toMatchObject([
        {
          started_at: at(10),
          confirmed_at: at(10.4),
          confirmed: { continent: 'Asia' },
          scope: 'everywhere',
          layer: 'tcp',
        },
      ]);
      expect(told.effects('alert')).toMatchObject([{ event: 'down', due_at: at(10.4) }]);
      expect(told.effects('evidence').map(({ row }) => row.part)).toEqual(['seen', 'confirmed']);
    });

    test('rule 10: a failure that was read back without its details does not take them from what is told', () => {
      const monitor = story();
      const unavailable = { class: 'unexpected_status', params: { status: 503 } } as const;
      monitor.fail('Europe', 10, { cause: unavailable });
      const readBack = { cause: { ...unavailable, params: {} }, evidence: null, handed_over: true };
      monitor.fail('Asia', 11, readBack);
      expect(monitor.incidents()).toMatchObject([{ confirmed_at: at(11), cause: unavailable }]);
    });

    test('rule 10: a second probe of the same continent never confirms', () => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Europe', 11, { probe: 'second' });
      told.fail('Europe', 12);
      expect(told.state().incident?.confirmed_at).toBeNull();
    });

    test.each([
      [60, true],
      [60.001, false],
    ])('rule 10: failures %d s apart confirm: %s', (distance, confirms) => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Asia', 10 + distance);
      expect(told.state().incident?.confirmed_at !== null).toBe(confirms);
    });

    test('rule 10: a check that started before the first failure becomes the beginning, and the first failure confirms it', () => {
      const told = story();
      told.pass('Europe', 5);
      told.fail('Europe', 10);
      told.fail('Asia', 4, { arrives: 12 });
      expect(told.incidents()).toMatchObject([
        {
          started_at: at(4),
          seen: { continent: 'Asia' },
          confirmed_at: at(10),
          confirmed: { continent: 'Europe' },
        },
      ]);
    });

    test('rule 10: after a refutation the lonely failure closes, and the confirmed incident is a new one from its latest failure', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.pass('Asia', 10.4);
      told.fail('Europe', 190);
      told.fail('Europe', 370);
      told.fail('Asia', 375);
      expect(told.incidents()).toMatchObject([
        {
          started_at: at(10),
          confirmed_at: null,
          resolved_at: at(370),
          note: 'seen from one continent only',
        },
        {
          started_at: at(370),
          confirmed_at: at(375),
          resolved_at: null,
          seen: { continent: 'Europe' },
          confirmed: { continent: 'Asia' },
        },
      ]);
      expect(told.effects('alert').map(({ event }) => event)).toEqual(['down']);
    });

    test('rule 10: a refutation of the very first failure parts nothing: it is its own latest', () => {
      const told = story();
      told.fail('Europe', 10);
      told.pass('Asia', 10.4);
      told.fail('Asia', 15);
      expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: at(15) }]);
    });

    test('rule 10: a failure that comes late may be refuted already when it opens', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.pass('Africa', 20);
      told.fail('Europe', 10, { arrives: 30 });
      told.fail('Europe', 40);
      told.fail('Asia', 41);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), resolved_at: at(40), note: 'seen from one continent only' },
        { started_at: at(40), confirmed_at: at(41) },
      ]);
    });

    test('rule 10: two that see it while the first no longer does confirm it from the other of them', () => {
      const told = story(['Europe', 'Asia', 'Africa'], { sampled: false });
      told.fail('Europe', 10);
      told.fail('Asia', 100);
      expect(told.state().incident?.confirmed_at).toBeNull();
      told.fail('Europe', 130);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), confirmed_at: at(100), confirmed: { continent: 'Asia' } },
      ]);
    });
  });

  describe('rule 11: the lonely failure', () => {
    test('rule 11: it stays open while its continent keeps failing, each failure asks again, and no alert is sent', () => {
      const told = story();
      for (let second = 10; second < 310; second += 60) {
        told.fail('Europe', second);
        told.pass('Asia', second + 1);
      }
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), confirmed_at: null, resolved_at: null, scope: 'one_continent' },
      ]);
      expect(told.effects('look').filter(({ why }) => why === 'again')).toHaveLength(4);
      expect(told.effects('alert')).toEqual([]);
    });

    test('rule 11: it closes when a probe of that continent passes', () => {
      const told = story();
      told.fail('Europe', 10);
      told.pass('Asia', 11);
      told.pass('Europe', 130, { probe: 'second' });
      expect(told.incidents()).toMatchObject([
        { confirmed_at: null, resolved_at: at(130), note: null },
      ]);
    });

    test('rule 11: when no probe of that continent has reported for two turns it closes as no longer observed', () => {
      const told = story();
      told.fail('Europe', 10);
      told.tick(249);
      expect(told.state().incident).not.toBeNull();
      told.tick(251);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(250), note: 'no longer observed' },
      ]);
    });
  });
});

/**
 * Rule 3: where an unconfirmed incident begins when older failures come, to the millisecond: as if
 * all had come in order of start.
 */
describe('rule 3: an older failure', () => {
  const expired: Cause = { class: 'certificate_expired', params: {} };
  const beginsAt = (told: ReturnType<typeof story>) =>
    told.incidents().map(({ started_at }) => (started_at - at(0)) / 1000);

  test('brings along what it saw: its place, cause and layer', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 100);
    told.fail('Asia', 20, { cause: expired, arrives: 101 });
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(20),
        confirmed_at: null,
        seen: { continent: 'Asia' },
        cause: expired,
        layer: 'tls',
        scope: 'some_continents',
        progress: { failed: ['Europe', 'Asia'] },
      },
    ]);
    expect(told.effects('incident').at(-1)?.change).toBe('moved');
  });

  test('moves the beginning back as far as its continent was observed all the while: two turns from one to the next', () => {
    const told = story();
    told.fail('Europe', 500);
    told.fail('Europe', 259.999, { arrives: 501 });
    expect(beginsAt(told)).toEqual([500]);
    told.fail('Europe', 260, { arrives: 501 });
    expect(beginsAt(told)).toEqual([259.999]);
    const alone = story();
    alone.fail('Europe', 500);
    alone.fail('Europe', 260, { arrives: 501 });
    expect(beginsAt(alone)).toEqual([260]);
  });

  test('is separated from the incident by a pass between them, and by none that started with one of the two', () => {
    const parted = (second: number) => {
      const told = story();
      told.pass('Europe', second, { probe: 'second' });
      told.fail('Europe', 20);
      told.fail('Europe', 10, { arrives: 21 });
      return beginsAt(told);
    };
    expect(parted(9)).toEqual([10]);
    expect(parted(10)).toEqual([10]);
    expect(parted(10.001)).toEqual([20]);
    expect(parted(19.999)).toEqual([20]);
    expect(parted(20)).toEqual([10]);
  });

  test('is separated by passes of its own continent alone', () => {
    const third = story(['Europe', 'Asia', 'Africa']);
    third.pass('Africa', 15);
    third.fail('Europe', 20);
    third.fail('Europe', 10, { arrives: 21 });
    expect(beginsAt(third)).toEqual([10]);
    const seeing = story(['Europe', 'Asia', 'Africa']);
    seeing.pass('Europe', 15);
    seeing.fail('Europe', 20);
    seeing.fail('Asia', 10, { arrives: 21 });
    expect(seeing.incidents()).toMatchObject([
      {
        started_at: at(10),
        seen: { continent: 'Asia' },
        confirmed_at: at(20),
        confirmed: { continent: 'Europe' },
      },
    ]);
    const other = story(['Europe', 'Asia', 'Africa']);
    other.fail('Europe', 200);
    other.pass('Asia', 130, { arrives: 201 });
    other.fail('Asia', 110, { probe: 'second', arrives: 202 });
    expect(beginsAt(other)).toEqual([200]);
    other.fail('Asia', 135, { arrives: 203 });
    other.fail('Asia', 120, { probe: 'third', arrives: 204 });
    expect(beginsAt(other)).toEqual([135]);
  });

  test('is separated by a pass of its own continent, which has failed again since', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Asia', 130);
    told.fail('Europe', 200);
    told.fail('Asia', 270);
    told.fail('Asia', 110, { probe: 'second', arrives: 271 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(200), seen: { continent: 'Europe' }, confirmed_at: null },
    ]);
  });

  test('is the beginning also when its own continent has passed since: two had seen it by then', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 20);
    told.pass('Asia', 30);
    told.fail('Asia', 15, { probe: 'second', arrives: 31 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(15), confirmed_at: at(20), confirmed: { continent: 'Europe' } },
    ]);
    // Not an outage of now: one of the two passes.
    expect(told.effects('alert')).toEqual([]);
  });

  test('leaves it refuted if it was, and refutes it if another continent has passed since', () => {
    const refuted = (told: ReturnType<typeof story>) => told.state().incident?.progress.refuted;
    const before = story(['Europe', 'Asia', 'Africa']);
    before.fail('Europe', 20);
    before.pass('Asia', 21);
    before.fail('Europe', 20 - 5, { arrives: 22 });
    expect([beginsAt(before), refuted(before)]).toEqual([[15], true]);
    const forgotten = story(['Europe', 'Asia', 'Africa']);
    forgotten.fail('Europe', 20);
    forgotten.pass('Asia', 21);
    forgotten.tell({ is: 'quarantined', at: at(22), probe: 'probe-Asia' }, 22);
    forgotten.fail('Europe', 15, { arrives: 23 });
    expect([beginsAt(forgotten), refuted(forgotten)]).toEqual([[15], true]);
    const since = story(['Europe', 'Asia', 'Africa']);
    since.pass('Asia', 17);
    since.fail('Europe', 20);
    expect(refuted(since)).toBe(false);
    since.fail('Europe', 15, { arrives: 21 });
    expect([beginsAt(since), refuted(since)]).toEqual([[15], true]);
    const never = story(['Europe', 'Asia', 'Africa']);
    never.pass('Asia', 14);
    never.fail('Europe', 20);
    never.fail('Europe', 15, { arrives: 21 });
    expect(refuted(never)).toBe(false);
  });

  test('of the same start as the incident changes nothing', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 200);
    told.fail('Europe', 200, { probe: 'second' });
    expect(told.effects('incident').map(({ change }) => change)).toEqual(['opened']);
  });
});

/**
 * Rules 12, 14, 16 and 17: how a confirmed incident ends, and what happens to the monitor itself.
 */
describe('decide endings', () => {
  const down = (
    places: readonly Continent[],
    failing: readonly Continent[],
    watched: Parameters<typeof story>[1] = {},
  ) => {
    const told = story(places, watched);
    for (const [index, place] of failing.entries()) told.fail(place, 10 + index);
    expect(told.state().incident?.confirmed_at).not.toBeNull();
    return told;
  };

  describe('rule 12: an outage ends', () => {
    test('with the check with which fewer than two failed, not with an earlier pass of three', () => {
      const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia', 'Africa']);
      told.pass('Europe', 100);
      expect(told.state().incident?.progress.below_since).toBeNull();
      told.pass('Asia', 105);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(105) }]);
    });

    test('by a pass that started together with it, and by none from before', () => {
      for (const [second, ends] of [
        [10, true],
        [9.999, false],
      ] as const) {
        const told = story(['Europe', 'Asia', 'Africa']);
        told.pass('Africa', second);
        told.fail('Europe', 10);
        told.fail('Asia', 11);
        told.pass('Europe', 100);
        expect(told.incidents()[0]?.resolved_at).toBe(ends ? at(100) : null);
      }
    });

    test('with that check also when the failing one fails again before enough have passed', () => {
      const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
      told.pass('Europe', 100);
      told.fail('Asia', 130);
      told.pass('Africa', 140);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(100) }]);
    });

    test('and a further failure of that one writes nothing', () => {
      const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
      told.fail('Europe', 40);
      expect(told.fail('Europe', 41)).toEqual([]);
    });

    test('and its first pass asks the others, a further pass none', () => {
      const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
      told.pass('Europe', 30);
      told.pass('Europe', 31);
      expect(told.effects('look').filter(({ why }) => why === 'recovery')).toMatchObject([
        { places: ['Africa', 'Asia'] },
      ]);
      expect(told.state().incident?.progress.asked_at).toBe(at(30.1));
    });

    test('and until then a pass of now raises the confirmed past, when two still see it', () => {
      const past = { handed_over: true, arrives: 30 };
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10, past);
      told.fail('Asia', 11, past);
      expect(told.effects('alert')).toEqual([]);
      told.pass('Africa', 31);
      expect(told.effects('alert')).toHaveLength(1);
    });
  });

  describe('rule 14: where only one may check', () => {
    test('a failure between two passes restarts the end', () => {
      const told = story(['Europe']);
      for (const second of [10, 15, 20]) told.fail('Europe', second);
      told.pass('Europe', 60);
      expect(told.state().incident?.progress).toMatchObject({
        run: 1,
        run_at: at(60),
        below_since: at(60),
      });
      told.fail('Europe', 62);
      expect(told.state().incident?.progress).toMatchObject({ run: 0, below_since: null });
      told.pass('Europe', 65);
      expect(told.incidents()[0]?.resolved_at).toBeNull();
      told.pass('Europe', 70);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(65) }]);
    });

    test('the second pass is asked for within five seconds, or sooner if it was due', () => {
      const nextLook = (second: number) => {
        const told = story(['Europe'], { interval_ms: 300_000 });
        for (const early of [10, 15, 20]) told.fail('Europe', early);
        let due = told.state().incident?.progress.sampling.next_at ?? 0;
        while (due < at(second)) {
          told.tick((due - at(0)) / 1000);
          due = told.state().incident?.progress.sampling.next_at ?? 0;
        }
        const before = due;
        told.pass('Europe', second, { arrives: second });
        return { before, after: told.state().incident?.progress.sampling.next_at };
      };
      const late = nextLook(400);
      expect(late.before).toBeGreaterThan(at(405));
      expect(late.after).toBe(at(405));
      const soon = nextLook(27);
      expect(soon.before).toBeLessThan(at(32));
      expect(soon.after).toBe(soon.before);
    });
  });

  describe('rule 17: the monitor itself', () => {
    test('is paused once and resumed once, however often it is reported', () => {
      const told = story();
      told.pass('Europe', 5);
      told.tell({ is: 'resumed', at: at(6) }, 6);
      expect(told.state().views).toHaveLength(1);
      told.tell({ is: 'paused', at: at(10) }, 10);
      expect(told.tell({ is: 'paused', at: at(12) }, 12)).toEqual([]);
      expect(told.state().watched.paused_at).toBe(at(10));
      told.tell({ is: 'resumed', at: at(20) }, 20);
      expect(told.state()).toMatchObject({
        watched: { paused_at: null },
        views: [],
        decides_from: at(20),
      });
      expect(told.tell({ is: 'resumed', at: at(25) }, 25)).toEqual([]);
      expect(
        told.effects('ledger').flatMap(({ kind, put }) => (kind === 'paused' ? [put] : [])),
      ).toEqual([
        [{ began_at: at(10), ended_at: null, interval_ms: 60_000 }],
        [{ began_at: at(10), ended_at: at(20), interval_ms: 60_000 }],
      ]);
    });

    test('that is edited drops its views if it is checked differently, and else only those of probes that may not check it any more', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      for (const [index, place] of (['Europe', 'Asia', 'Africa'] as const).entries())
        told.pass(place, 5 + index);
      const watched = { ...told.state().watched, continents: ['Europe', 'Asia'] as const };
      told.tell({ is: 'edited', at: at(10), watched, changed: false }, 10);
      expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Europe', 'Asia']);
      told.tell(
        { is: 'edited', at: at(11), watched: { ...watched, config_version: 2 }, changed: true },
        11,
      );
      expect(told.state().views).toEqual([]);
    });
  });

  describe('rule 16: when a probe is quarantined', () => {
    const quarantine = (told: ReturnType<typeof story>, probe: string) => {
      told.tell({ is: 'quarantined', at: at(50), probe }, 50);
      return told.incidents().map(({ note, resolved_at }) => [note, resolved_at]);
    };
    const open = [[null, null]];

    test('incidents that it alone opened close with that reason, and its views are dropped', () => {
      const told = story();
      told.fail('Europe', 10);
      told.pass('Asia', 11);
      expect(quarantine(told, 'probe-Europe')).toEqual([
        ['the probe that saw it was quarantined', at(50)],
      ]);
      expect(told.state().views.map(({ from }) => from.probe)).toEqual(['probe-Asia']);
    });

    test('incidents that another opened, or sees too, and confirmed ones stay open', () => {
      const lonely = story();
      lonely.fail('Europe', 10);
      expect(quarantine(lonely, 'probe-Asia')).toEqual(open);
      const seenToo = story(['Europe', 'Asia', 'Africa']);
      seenToo.fail('Europe', 10);
      seenToo.fail('Europe', 11, { probe: 'second' });
      expect(quarantine(seenToo, 'probe-Europe')).toEqual(open);
      expect(quarantine(down(['Europe', 'Asia'], ['Europe', 'Asia']), 'probe-Europe')).toEqual(
        open,
      );
      expect(quarantine(story(), 'probe-Europe')).toEqual([]);
      // Also when those who see it have long not said so.
      const long = story(['Europe', 'Asia', 'Africa']);
      long.fail('Europe', 10);
      long.pass('Africa', 900);
      expect(quarantine(long, 'probe-Asia')).toEqual(open);
      const confirmed = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
      confirmed.pass('Africa', 900);
      expect(quarantine(confirmed, 'probe-Europe')).toEqual(open);
    });
  });
});
