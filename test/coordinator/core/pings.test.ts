import { describe, expect, test } from 'vitest';
import type { SeenPing } from '../../../coordinator/core/types.ts';
import { at, inTime, story } from './story.ts';

const ping = (
  second: number,
  is: SeenPing['is'] = 'good',
  covers = 360,
  late: Partial<SeenPing> = {},
): { is: 'ping'; ping: SeenPing } => ({
  is: 'ping',
  ping: {
    ...inTime(second),
    is,
    covers_until: at(second + covers),
    cause: { class: 'heartbeat_failed', params: {} },
    evidence: null,
    ...late,
  },
});
const heartbeat = () => {
  const told = story(undefined, { kind: 'heartbeat', interval_ms: 300_000, sampled: false });
  const pinged = (...of: Parameters<typeof ping>) => told.tell(ping(...of), of[0]);
  return { ...told, ping: pinged };
};

/** Rule 20: pings and judgements of a heartbeat, on the lines that the rule draws. */
describe('decide pings', () => {
  const judged = (params: Readonly<Record<string, number>>) => ({
    cause: { class: 'heartbeat_late', params },
  });

  describe('rule 20: a deadline that passed', () => {
    const opens = (params: Readonly<Record<string, number>>) => {
      const told = heartbeat();
      told.ping(300);
      told.fail('Europe', 400, judged(params));
      return told.incidents().length === 1;
    };

    test('is void when it counts from an older ping than the newest good one, or its deadline was before that', () => {
      expect(opens({ after: at(299.999) })).toBe(false);
      expect(opens({ after: at(300) })).toBe(true);
      expect(opens({ deadline: at(299.999) })).toBe(false);
      expect(opens({ deadline: at(300) })).toBe(true);
      expect(opens({ after: at(0), deadline: at(360) })).toBe(false);
      expect(opens({})).toBe(true);
    });

    test('counts when no ping is known, or it names no cause', () => {
      const never = heartbeat();
      never.fail('Europe', 400, judged({ after: at(0), deadline: at(300) }));
      expect(never.incidents()).toHaveLength(1);
      const silent = heartbeat();
      silent.ping(300);
      silent.fail('Europe', 400, { cause: null });
      expect(silent.incidents()).toHaveLength(1);
    });

    test('that reports no fault is never void', () => {
      const told = heartbeat();
      told.ping(300);
      told.pass('Europe', 400, judged({ after: at(0) }));
      expect(told.state().views).toHaveLength(1);
    });
  });

  describe('rule 20: a good ping', () => {
    test('removes earlier missed deadlines, and keeps passes and failures after it', () => {
      const told = heartbeat();
      told.ping(0);
      told.pass('Asia', 350);
      told.fail('Europe', 400, judged({ deadline: at(360) }));
      told.tell(ping(360), 401);
      expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Asia']);
      told.fail('Europe', 730, judged({ deadline: at(720) }));
      told.tell(ping(719.999), 731);
      expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Asia', 'Europe']);
    });

    test('that shows an outage to be none leaves the failure that the job reported after it', () => {
      const told = heartbeat();
      told.ping(0);
      told.fail('Europe', 361, judged({ after: at(0), deadline: at(360) }));
      told.fail('Asia', 361.5, judged({ after: at(0), deadline: at(360) }));
      told.tell(ping(359), 362);
      told.tell(ping(361.1, 'bad', 360, { next_good_at: at(363) }), 364);
      expect(told.incidents()).toMatchObject([
        { started_at: at(360), confirmed_at: at(361.5), resolved_at: at(361.5) },
        { started_at: at(361.1), confirmed_at: at(361.1), resolved_at: at(363), note: null },
      ]);
    });

    test('and also where the job reported it before that ping came', () => {
      const told = heartbeat();
      told.ping(0);
      told.fail('Europe', 361, judged({ after: at(0), deadline: at(360) }));
      told.tell(ping(361.1, 'bad'), 361.2);
      told.tell(ping(359), 362);
      told.ping(363);
      expect(told.incidents().at(-1)).toMatchObject({
        started_at: at(361.1),
        confirmed_at: at(361.1),
        resolved_at: at(363),
      });
    });

    test('and also where probes had confirmed the silence before the report', () => {
      const told = heartbeat();
      told.ping(0);
      told.fail('Europe', 361, judged({ after: at(0), deadline: at(360) }));
      told.fail('Asia', 361.5, judged({ after: at(0), deadline: at(360) }));
      told.ping(362, 'bad');
      told.tell(ping(359), 363);
      expect(told.incidents()).toMatchObject([
        { started_at: at(362), confirmed_at: at(362), resolved_at: null },
      ]);
    });

    test('that the confirming probe knew and the first did not dates the outage', () => {
      const told = heartbeat();
      told.ping(0);
      told.fail('Europe', 361, judged({ after: at(0), deadline: at(360) }));
      told.fail('Asia', 375, judged({ after: at(10), deadline: at(370) }));
      told.tell(ping(10), 376);
      told.fail('Europe', 377, judged({ after: at(10), deadline: at(370) }));
      told.fail('Asia', 378, judged({ after: at(10), deadline: at(370) }));
      expect(told.incidents()).toMatchObject([
        { started_at: at(360), resolved_at: at(375) },
        { started_at: at(370), confirmed_at: at(375), resolved_at: null },
      ]);
    });

    test('that is not newer than the newest changes only the covered time', () => {
      const told = heartbeat();
      told.ping(300);
      told.ping(310, 'bad');
      const before = told.state();
      for (const second of [300, 200])
        expect(told.tell(ping(second), 320)).not.toContainEqual(
          expect.objectContaining({ is: 'incident' }),
        );
      expect(told.state().incident).toEqual(before.incident);
      expect(told.state().beat_at).toBe(at(300));
    });

    test('closes incidents that began with it or before; reports of later failures stay, and a deadline missed only by its delay ends where it began', () => {
      const together = heartbeat();
      together.ping(300, 'bad');
      together.tell(ping(300), 301);
      expect(together.incidents()).toMatchObject([{ resolved_at: at(300), note: null }]);
      const told = heartbeat();
      told.ping(300, 'bad');
      told.tell(ping(299), 301);
      expect(told.incidents()).toMatchObject([{ resolved_at: null }]);
      const late = heartbeat();
      late.fail('Europe', 400, judged({ deadline: at(360) }));
      late.tell(ping(355), 401);
      expect(late.incidents()).toMatchObject([
        { resolved_at: at(360), note: 'the beat had come in time and reached us late' },
      ]);
      expect(late.effects('look').at(-1)).toMatchObject({
        why: 'recovery',
        places: ['Asia', 'Europe'],
      });
    });

    test('that comes late ends the outage that a later one seemed to end, and failures after it are another outage', () => {
      const told = heartbeat();
      told.ping(300);
      told.ping(310, 'bad');
      told.ping(900);
      const late = { next_good_at: at(900), fails_at: at(760) };
      for (let time = 0; time < 2; time += 1) told.tell(ping(400, 'good', 360, late), 901);
      expect(told.incidents()).toMatchObject([
        { started_at: at(310), resolved_at: at(400), note: null },
        {
          started_at: at(760),
          confirmed_at: at(760),
          resolved_at: at(900),
          cause: { class: 'heartbeat_late' },
        },
      ]);
      expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
    });

    test('that comes late separates a missed deadline from what the job reported after it, which had confirmed it', () => {
      const told = heartbeat();
      told.ping(300);
      told.tell(ping(900, 'bad', 360, { began_at: at(660) }), 900);
      told.ping(1_000);
      const late = { next_good_at: at(1_000), fails_at: at(900) };
      told.tell(ping(700, 'good', 360, late), 1_001);
      expect(told.incidents()).toMatchObject([
        { started_at: at(660), confirmed_at: at(700), resolved_at: at(700) },
        { started_at: at(900), confirmed_at: at(900), resolved_at: at(1_000) },
      ]);
    });

    test('that ended a run whose start comes only now ends what the limit of that run began, or nothing', () => {
      const start = (told: ReturnType<typeof heartbeat>, fails_at: number | null) => {
        told.tell(ping(400, 'mark', 360, { next_good_at: at(900), fails_at }), 901);
        return told.incidents();
      };
      const late = () => {
        const told = heartbeat();
        told.ping(300);
        told.fail('Europe', 661, judged({ deadline: at(660), after: at(300) }));
        told.fail('Asia', 662, judged({ deadline: at(660), after: at(300) }));
        told.ping(900);
        return told;
      };
      expect(start(late(), at(660))).toMatchObject([
        { started_at: at(660), resolved_at: at(900), note: null },
      ]);
      expect(start(late(), at(445))).toMatchObject([
        { started_at: at(445), resolved_at: at(900), note: null },
      ]);
      expect(start(late(), at(800))).toMatchObject([
        { started_at: at(800), confirmed_at: at(800), resolved_at: at(900) },
      ]);
      expect(start(late(), null)).toMatchObject([
        { started_at: at(660), note: 'the beat had come in time and reached us late' },
      ]);
      const well = heartbeat();
      well.ping(300);
      well.ping(900);
      expect(start(well, at(445))).toEqual([]);
    });

    test('that comes after a later start dates the outage between it and the next good one', () => {
      const outage = (known: number, since: number | null) => {
        const told = heartbeat();
        const late = (second: number, is: SeenPing['is'], fails_at: number | null) =>
          told.tell(ping(second, is, 360, { next_good_at: at(375), fails_at }), 377);
        told.fail('Europe', 371, judged({ after: at(known), deadline: at(370) }));
        told.tell(ping(375), 376);
        // Without the good one in the record, the deadline before it seems missed.
        late(372, 'mark', at(360));
        late(10, 'good', since);
        return told.incidents().map(({ started_at, resolved_at }) => [started_at, resolved_at]);
      };
      expect(outage(10, at(370))).toEqual([[at(370), at(375)]]);
      expect(outage(10, null)).toEqual([[at(360), at(360)]]);
      // The probe counted from a newer one, which is still to come.
      expect(outage(12, null)).toEqual([[at(360), at(375)]]);
    });

    test('moves the clock forward and never back', () => {
      const told = heartbeat();
      told.ping(300);
      expect(told.state().clock).toBe(at(300));
      told.pass('Europe', 500);
      told.tell(ping(400), 501);
      expect(told.state()).toMatchObject({ clock: at(500), beat_at: at(400) });
    });

    test('covers until its deadline, and nothing when that has come', () => {
      const told = heartbeat();
      told.ping(0, 'good', 100);
      expect(told.state().covered_until).toBe(at(100));
      expect(told.ping(200, 'good', 0)).toEqual([]);
      expect(told.state()).toMatchObject({ covered_until: at(100), gaps: [] });
    });
  });

  describe('rule 20: a bad ping', () => {
    test('leaves its incident, open or made up for by a good one that is newer; one as old is of now', () => {
      for (const [second, resolved_at, downs] of [
        [299.999, at(300), 0],
        [300, null, 1],
      ] as const) {
        const told = heartbeat();
        told.ping(300);
        for (let time = 0; time < 2; time += 1) told.tell(ping(second, 'bad'), 301);
        expect(told.incidents()).toMatchObject([
          { started_at: at(second), confirmed_at: at(second), resolved_at },
        ]);
        expect(told.effects('alert')).toHaveLength(downs);
      }
    });

    const bad = (
      told: ReturnType<typeof heartbeat>,
      second: number,
      more: Partial<SeenPing>,
      arrives: number,
    ) => {
      told.tell(ping(second, 'bad', 360, more), arrives);
    };

    test('that comes after the deadline begins the outage at the deadline, whichever probe saw it first', () => {
      const first = heartbeat();
      bad(first, 400, { began_at: at(360) }, 400);
      expect(first.incidents()).toMatchObject([
        {
          started_at: at(360),
          confirmed_at: at(400),
          seen: null,
          cause: { class: 'heartbeat_failed' },
        },
      ]);
      const seen = heartbeat();
      seen.fail('Europe', 401, judged({ deadline: at(400) }));
      bad(seen, 400, { began_at: at(360) }, 402);
      expect(seen.incidents()).toMatchObject([
        { started_at: at(360), confirmed_at: at(400), confirmed: null },
      ]);
    });

    test('that was recovered by then belongs to the outage that the same good ping ended, and sets its start from the earliest failure', () => {
      const told = heartbeat();
      told.ping(500, 'bad');
      told.ping(600);
      bad(told, 450, { next_good_at: at(600) }, 700);
      expect(told.incidents()).toMatchObject([
        { started_at: at(450), confirmed_at: at(450), resolved_at: at(600) },
      ]);
      bad(told, 300, { next_good_at: at(350) }, 701);
      expect(told.incidents()).toMatchObject([
        { started_at: at(450) },
        { started_at: at(300), resolved_at: at(350) },
      ]);
    });

    test('that was recovered by then ends with that good ping, which probes that confirmed it had not heard of', () => {
      const told = heartbeat();
      for (const [continent, second] of [
        ['Europe', 702],
        ['Asia', 702.03],
      ] as const)
        told.fail(continent, second, judged({ deadline: at(700) }));
      told.tell(ping(702.02), 703);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(702.02) }]);
      for (let time = 0; time < 2; time += 1)
        bad(told, 700, { next_good_at: at(702.02) }, 704 + time);
      expect(told.incidents()).toMatchObject([
        { started_at: at(700), confirmed_at: at(700), resolved_at: at(702.02) },
      ]);
    });

    test('after a good one begins the outage later, open or over', () => {
      const told = heartbeat();
      bad(told, 500, { began_at: at(400) }, 500);
      bad(told, 500, { began_at: at(450) }, 501);
      expect(told.incidents()).toMatchObject([
        { started_at: at(450), confirmed_at: at(500), resolved_at: null },
      ]);
      told.ping(600);
      bad(told, 500, { began_at: at(470), next_good_at: at(600) }, 601);
      expect(told.incidents()).toMatchObject([
        { started_at: at(470), confirmed_at: at(500), resolved_at: at(600) },
      ]);
    });

    test('is one outage with the next, and confirms what a probe has reported so far', () => {
      const twice = heartbeat();
      twice.ping(300, 'bad');
      expect(twice.ping(310, 'bad', 0)).toEqual([]);
      const seen = heartbeat();
      seen.fail('Europe', 400, judged({ deadline: at(360) }));
      seen.ping(410, 'bad');
      expect(seen.incidents()).toMatchObject([
        {
          started_at: at(360),
          confirmed_at: at(410),
          seen: { continent: 'Europe' },
          confirmed: null,
        },
      ]);
      expect(seen.effects('alert')).toHaveLength(1);
    });

    test('rules 17 and 20: decides nothing while it is paused, or from before it was resumed, nor does a mark ever', () => {
      const told = heartbeat();
      told.tell({ is: 'paused', at: at(10) }, 10);
      told.ping(20, 'bad');
      told.tell({ is: 'resumed', at: at(30) }, 30);
      told.tell(ping(29.999, 'bad'), 31);
      told.ping(35, 'mark');
      expect(told.incidents()).toEqual([]);
      expect(told.state().covered_until).toBe(at(30));
      told.tell(ping(30, 'bad'), 36);
      expect(told.incidents()).toHaveLength(1);
    });
  });

  describe('what one decision writes for an incident', () => {
    test('is one row, which is new if the decision opened it, whatever else it did', () => {
      const told = heartbeat();
      const rows = told.ping(300, 'bad').filter((effect) => effect.is === 'incident');
      expect(rows).toMatchObject([
        { change: 'opened', incident: { confirmed_at: at(300), progress: { alerted: true } } },
      ]);
      const closing = told.ping(400).filter((effect) => effect.is === 'incident');
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
        [9.999, []],
        [10, ['Africa']],
        [71, ['Africa']],
        [71.001, []],
      ] as const) {
        const told = open();
        told.fail('Asia', 11);
        told.pass('Africa', second, { arrives: 80 });
        expect(told.incidents().at(-1)?.progress.passed).toEqual(expected);
      }
    });

    test('counts a pass of much later while it is not confirmed, and each continent once', () => {
      const told = open();
      told.pass('Africa', 300);
      told.pass('Africa', 301);
      expect(told.state().incident?.progress.passed).toEqual(['Africa']);
      expect(scope(told)).toBe('one_continent');
    });

    test('of failed and passed is failed', () => {
      const told = open();
      told.fail('Asia', 11);
      told.pass('Asia', 12);
      expect(scope(told)).toBe('some_continents');
      told.pass('Africa', 13);
      expect(scope(told)).toBe('some_continents');
      told.fail('Africa', 14);
      told.fail('Oceania', 15);
      // What Asia saw was before this one.
      expect(scope(told)).toBe('some_continents');
      told.fail('Asia', 16);
      expect(scope(told)).toBe('everywhere');
    });
  });
});

describe('rule 20: heartbeats', () => {
  const late = (deadline: number, after: number) => ({
    cause: { class: 'heartbeat_late', params: { deadline: at(deadline), after: at(after) } },
  });

  test('rule 20: late for two continents is an outage from the deadline on', () => {
    const told = heartbeat();
    told.ping(0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    expect(told.incidents()).toMatchObject([
      { started_at: at(360), confirmed_at: at(362), confirmed: { continent: 'Asia' } },
    ]);
    expect(told.effects('alert')).toMatchObject([{ event: 'down' }]);
  });

  test('rules 15 and 20: what the job sent when it failed is kept with the incident, which has no continent', () => {
    const told = heartbeat();
    const said = { received_by: 'Frankfurt', exit_code: 3, body: 'disk full' };
    const failed = ping(10, 'bad');
    told.tell({ ...failed, ping: { ...failed.ping, evidence: said } }, 11);
    const [incident] = told.incidents();
    expect(incident).toMatchObject({ seen: null, scope: 'everywhere' });
    expect(told.effects('evidence')).toMatchObject([
      {
        incident: incident?.id,
        row: {
          part: 'seen',
          continent: null,
          probe: 'Frankfurt',
          at: at(10),
          outcome: 'fail',
          evidence: said,
        },
      },
    ]);
    // A probe that judges the same record afterwards makes no place of it.
    told.fail('Europe', 12, { cause: { class: 'heartbeat_failed', params: { deadline: at(10) } } });
    expect(told.incidents().at(-1)).toMatchObject({ scope: 'everywhere' });
  });

  test('rules 15 and 20: what the job said confirms what a probe had read from the record, and is kept beside it', () => {
    const told = heartbeat();
    told.ping(0);
    told.fail('Europe', 12, { cause: { class: 'heartbeat_failed', params: { deadline: at(10) } } });
    const failed = ping(10, 'bad');
    told.tell(
      {
        ...failed,
        ping: { ...failed.ping, evidence: { received_by: 'coordinator', body: 'why' } },
      },
      13,
    );
    expect(told.incidents().at(-1)).toMatchObject({ confirmed_at: at(10), scope: 'everywhere' });
    const parts = told
      .effects('evidence')
      .map(({ row: { part, continent, probe } }) => [part, continent, probe]);
    expect(parts.at(0)?.slice(0, 2)).toEqual(['seen', 'Europe']);
    expect(parts.at(-1)).toEqual(['confirmed', null, 'coordinator']);
  });

  test('rule 20: the next good ping alone closes, dated by the ping', () => {
    const told = heartbeat();
    told.ping(0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    told.pass('Europe', 400);
    told.pass('Asia', 401);
    expect(told.state().incident?.resolved_at).toBeNull();
    told.tell(ping(450), 451);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(450) }]);
    expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
    told.tick(800);
    expect(told.effects('ledger').flatMap(({ put }) => put)).toEqual([]);
  });

  test('rule 20: a /fail opens and confirms at once, from nowhere', () => {
    const told = heartbeat();
    told.ping(0);
    told.ping(100, 'bad');
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(100),
        confirmed_at: at(100),
        seen: null,
        confirmed: null,
        cause: { class: 'heartbeat_failed' },
      },
    ]);
    expect(told.effects('alert')).toMatchObject([{ event: 'down' }]);
    told.ping(130, 'mark');
    told.ping(160);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(160) }]);
  });

  test('rule 20: a judgement from an older ping than the newest good one is void', () => {
    const told = heartbeat();
    told.ping(0);
    told.ping(300);
    told.fail('Europe', 361, late(360, 0));
    expect(told.incidents()).toEqual([]);
  });

  test('rule 20: a ping that came in time and reached us late ends the incident where it began', () => {
    const told = heartbeat();
    told.ping(0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    told.tell(ping(355), 400);
    expect(told.incidents()).toMatchObject([
      { resolved_at: at(362), note: 'the beat had come in time and reached us late' },
    ]);
  });

  test('rule 20: a late one that only one place has judged is judged again until others can', () => {
    const told = heartbeat();
    told.ping(0);
    told.fail('Europe', 361, late(360, 0));
    let next = told.nextTick();
    for (let step = 0; step < 100 && next !== null; step += 1, next = told.nextTick()) {
      const second = (next - at(0)) / 1000;
      told.tick(second);
      told.fail('Europe', second + 0.1, late(360, 0));
    }
    expect(told.state().incident?.confirmed_at).toBeNull();
    expect(told.effects('look').at(-1)?.places.length).toBeGreaterThan(0);
    const second = ((told.nextTick() ?? 0) - at(0)) / 1000;
    told.fail('Asia', second, late(360, 0));
    expect(told.state().incident?.confirmed_at).toBe(at(second));
  });

  test('rule 20: before its first ping a heartbeat is pending: nothing covers it', () => {
    const told = heartbeat();
    told.pass('Europe', 10);
    told.tick(20);
    expect(told.effects('ledger').flatMap(({ put }) => put)).toMatchObject([
      { began_at: at(0), ended_at: null },
    ]);
    told.ping(30);
    expect(told.effects('ledger').at(-1)?.put).toMatchObject([
      { began_at: at(0), ended_at: at(30) },
    ]);
  });
});
