import { describe, expect, test } from 'vitest';
import type { Ping } from '../../../../shared/checks/heartbeat/state.ts';
import { placeOf } from '../../../../shared/checks/heartbeat/state.ts';

const terms = { interval_ms: 60_000, grace_ms: 0, max_run_ms: 30_000, schedule: null };
const ping = (second: number, kind: Ping['kind'] = 'success', rid: string | null = null): Ping => ({
  ...{ id: `${kind} ${second}`, kind, exit_code: null, at: second * 1_000, rid },
});
const place = (one: Ping, others: readonly Ping[], from: number | null = null) => placeOf(one, [...others, one], from, terms);

describe('rule 20: a ping in order of time', () => {
  test('that is bad begins an outage with itself, with the deadline that had passed, or with what had gone wrong before', () => {
    expect(place(ping(50, 'fail'), [ping(0)]).began_at).toBe(50_000);
    expect(place(ping(90, 'fail'), [ping(0)]).began_at).toBe(60_000);
    expect(place(ping(90, 'fail'), [ping(20, 'fail'), ping(0)]).began_at).toBe(20_000);
    expect(place(ping(90, 'fail'), [ping(20, 'fail'), ping(85), ping(0)]).began_at).toBe(90_000);
    expect(place(ping(55, 'fail', 'a'), [ping(0), ping(20, 'start', 'a')]).began_at).toBe(50_000);
  });

  test('knows the next good one, and the bad ones before that, whatever came first', () => {
    const others = [ping(80), ping(30, 'fail'), ping(50), ping(40, 'fail'), ping(60, 'fail')];
    expect(place(ping(20), others)).toMatchObject({ next_good_at: 50_000, bad: [ping(30, 'fail'), ping(40, 'fail')], fails_at: 30_000 });
    expect(place(ping(90), others)).toMatchObject({ next_good_at: null, bad: [], fails_at: null });
  });

  test('that is good tells when it had gone wrong again by the next good one', () => {
    expect(place(ping(0), [ping(59)]).fails_at).toBeNull();
    expect(place(ping(0), [ping(200)]).fails_at).toBe(60_000);
    expect(place(ping(0), [ping(10, 'start'), ping(200)]).fails_at).toBe(40_000);
  });

  test('that is a start tells the same of the good one before it, which its run may have made worse, or better', () => {
    expect(place(ping(10, 'start'), [ping(0), ping(200)])).toMatchObject({ next_good_at: 200_000, fails_at: 40_000 });
    expect(place(ping(50, 'start'), [ping(0), ping(70)])).toMatchObject({ next_good_at: 70_000, fails_at: null });
    expect(place(ping(50, 'start'), [ping(0), ping(70)]).began_at).toBe(50_000);
    expect(place(ping(50, 'start'), [ping(0)])).toMatchObject({ next_good_at: null, fails_at: null });
  });

  test('that is a start tells of each good one that the limit of its run reaches to, and of the bad ones until the last of them', () => {
    const start = ping(10, 'start', 'a');
    expect(place(start, [ping(0), ping(12), ping(55, 'fail')])).toMatchObject({
      next_good_at: 12_000,
      fails_at: null,
      bad: [ping(55, 'fail')],
    });
    expect(place(ping(55, 'fail'), [ping(0), ping(12), start]).began_at).toBe(40_000);
    const made = place(start, [ping(0), ping(12), ping(55, 'fail'), ping(60), ping(65, 'fail')]);
    expect(made).toMatchObject({ fails_at: null, later: [{ next_good_at: 60_000, fails_at: 40_000 }], bad: [ping(55, 'fail')] });
    expect(place({ ...start, kind: 'success' }, [ping(0), ping(12), ping(55, 'fail')])).toMatchObject({ later: [], bad: [] });
  });

  test('counts nothing from before its monitor was resumed or agreed anew', () => {
    expect(place(ping(90, 'fail'), [ping(0)], 50_000).began_at).toBe(90_000);
  });
});
