import { describe, expect, onTestFinished, test } from 'vitest';
import type { Continent } from '../../../shared/base/continents.ts';
import { createChance } from '../../simulation/story.ts';
import { crookedDates, findStalled, floods, judgePings } from './checks.ts';
import { balance, type Incident, judge, type Row, type StoredPing } from './ledger.ts';
import { holds, isAtRest, type Report } from './report.ts';
import { continents } from './stage.ts';
import { createTruth, type Outage } from './truth.ts';

/**
 * Torment's checks find what they are there for: each is shown a story that is right, and the same
 * story with one thing wrong.
 */

const place = '/failing/0';
const outage: Outage = { place, from: 100_000, until: 130_000, onlyFrom: null };

const incident = (more: Partial<Incident> = {}): Incident => ({
  place,
  started_at: 101_000,
  confirmed_at: 101_100,
  resolved_at: 131_100,
  seen_continent: 'Europe',
  confirmed_continent: 'Asia',
  downs: 1,
  ups: 1,
  ...more,
});

const row = (at: number, continent: Continent, ok: boolean | null): Row => ({
  at,
  continent,
  ok,
  place,
  probe: continent,
  took_ms: 1,
});

const rows: readonly Row[] = [
  row(98_000, 'Asia', true),
  row(101_000, 'Europe', false),
  row(101_100, 'Asia', false),
  row(104_000, 'Europe', false),
  row(107_000, 'Asia', false),
  row(131_000, 'Europe', true),
  row(131_100, 'Asia', true),
];

describe('a check that is stored nowhere', () => {
  const [began, killed] = [10_000, 10_900];
  const found = (kill: { at: number; goneAt: number } | null, saved: readonly number[] = []) => {
    const later = saved.map((at) => row(at, 'Europe', true));
    const { lost, in_flight } = balance({
      seen: [...later, row(began, 'Europe', true)].map((one) => ({ ...one, ok: true })),
      rows: later,
      saved: [],
      kills: kill === null ? [] : [{ probe: 'Europe', ...kill }],
      placeOf: () => place,
      until: 60_000,
    });
    return { lost: lost.length, in_flight };
  };
  const isLost = { lost: 1, in_flight: 0 };
  const wasUnderWay = { lost: 0, in_flight: 1 };

  test('is lost where nobody killed its probe, or killed it before or long after', () => {
    expect(found(null)).toEqual(isLost);
    expect(found({ at: began - 400, goneAt: began - 300 })).toEqual(isLost);
    expect(found({ at: began + 3_100, goneAt: began + 3_200 })).toEqual(isLost);
  });

  test('was under way when its probe was killed a moment later, or before it had saved any later one', () => {
    // Its request had left before, and was read afterwards.
    expect(found({ at: began - 110, goneAt: began - 8 })).toEqual(wasUnderWay);
    expect(found({ at: began + 400, goneAt: began + 450 }, [began + 300])).toEqual(wasUnderWay);
    expect(found({ at: killed, goneAt: killed + 50 }, [began - 100])).toEqual(wasUnderWay);
    expect(found({ at: killed, goneAt: killed + 50 }, [killed + 2_000])).toEqual(wasUnderWay);
  });

  test('is the one that has no row, also while the clock of its probe is wrong', () => {
    const [first, next, last] = [began, began + 3_000, began + 6_000];
    const { lost, invented, in_flight } = balance({
      seen: [first, next, last].map((at) => ({ ...row(at, 'Europe', true), ok: true })),
      rows: [first + 900, next + 900].map((at) => row(at, 'Europe', true)),
      saved: [],
      kills: [{ probe: 'Europe', at: last + 100, goneAt: last + 150 }],
      placeOf: () => place,
      until: 60_000,
    });
    expect({ lost, invented, in_flight }).toEqual({ lost: [], invented: [], in_flight: 1 });
  });

  test('is lost where its probe had saved what it began later', () => {
    expect(found({ at: killed, goneAt: killed + 50 }, [began + 300])).toEqual(isLost);
  });
});

const judged = (
  incidents: readonly Incident[],
  outages: readonly Outage[] = [outage],
  of: readonly Row[] = rows,
) => judge(incidents, outages, of, []);

describe('the verdict', () => {
  test('accepts one incident for an outage, notified once, and its end once', () => {
    expect(judged([incident()])).toMatchObject({
      outages: 1,
      missed: [],
      false_alerts: [],
      crooked: [],
      unpaired: [],
      confirmed: 1,
      told: 1,
    });
  });

  test('finds an outage without an alert, and an incident without an outage', () => {
    expect(judged([]).missed).toHaveLength(1);
    expect(
      judged([
        incident(),
        incident({ started_at: 50_000, confirmed_at: 50_100, resolved_at: 60_000 }),
      ]).false_alerts,
    ).toHaveLength(1);
  });

  test('expects no alert of two places that had to wait for a third for as long as it lasted', () => {
    const short: Outage = { ...outage, until: 115_000 };
    const third = row(98_500, 'North America', true);
    const of = [...rows.filter(({ at }) => at < 115_000), third];
    expect(judged([], [short], of)).toMatchObject({ outages: 0, missed: [] });
    const later = [row(131_000, 'Europe', false), row(132_000, 'Asia', false)];
    const long: Outage = { ...outage, until: 140_000 };
    expect(judged([], [long], [...rows, third, ...later]).missed).toHaveLength(1);
    const fails = row(104_000, 'North America', false);
    expect(judged([], [short], [...of, fails]).missed).toHaveLength(1);
  });

  test('finds an outage that is two incidents, and two outages that are one', () => {
    const two = [
      incident({ resolved_at: 110_000 }),
      incident({ started_at: 112_000, confirmed_at: 112_100 }),
    ];
    expect(judged(two).crooked.join()).toContain('is 2 incidents');
    const next: Outage = { ...outage, from: 150_000, until: 170_000 };
    expect(judged([incident({ resolved_at: 171_000 })], [outage, next]).crooked.join()).toContain(
      'several outages for one',
    );
    const unseen = rows.filter(({ at }) => at < 131_100);
    expect(judged([incident({ resolved_at: 171_000 })], [outage, next], unseen).crooked).toEqual(
      [],
    );
  });

  test('accepts an end that is seen only shortly before the next outage', () => {
    const next: Outage = { ...outage, from: 140_000, until: 170_000 };
    const of = [
      ...rows,
      row(141_000, 'Europe', false),
      row(142_000, 'Asia', false),
      row(144_000, 'Europe', false),
      row(145_000, 'Asia', false),
    ];
    const two = [
      incident({ resolved_at: 138_900 }),
      incident({ started_at: 141_000, confirmed_at: 142_000, resolved_at: 171_000 }),
    ];
    expect(judged(two, [outage, next], of)).toMatchObject({ outages: 2, crooked: [] });
  });

  test('takes what is doubtful for an answer, and does not judge it', () => {
    const next: Outage = { ...outage, from: 150_000, until: 170_000 };
    const of = rows.flatMap((one) => [one, { ...one, at: one.at + 50_000 }]);
    const through = incident({ resolved_at: 171_000 });
    const isDoubtful = (one: Incident | Outage) => one === through || one === outage;
    expect(judge([through], [outage, next], of, [], isDoubtful)).toMatchObject({
      outages: 1,
      missed: [],
      crooked: [],
    });
    expect(judge([], [outage, next], of, [], isDoubtful).missed).toHaveLength(1);
  });

  test('finds a repeated alert, and a beginning or an end without the other', () => {
    expect(judged([incident({ downs: 2 })]).unpaired.join()).toContain('was told 2 times');
    expect(judged([incident({ ups: 2 })]).unpaired.join()).toContain('its end was told 2 times');
    expect(judged([incident({ ups: 0 })]).unpaired.join()).toContain('its end was not');
    expect(judged([incident({ downs: 0 })]).unpaired.join()).toContain('its beginning was not');
    expect(judged([incident({ downs: 0, ups: 0 })]).unpaired).toEqual([]);
  });
});

test('an incident confirmed by failures of two outages, without an alert, is neither', () => {
  const next: Outage = { place, from: 140_000, until: 160_000, onlyFrom: null };
  const later = [
    row(139_000, 'Asia', true),
    row(139_100, 'Europe', true),
    ...[141_000, 150_000].map((at) => row(at, 'Asia', false)),
  ];
  const of = [...rows, ...later, ...[141_500, 150_500].map((at) => row(at, 'Europe', false))];
  const across = { started_at: 129_900, confirmed_at: 141_000, resolved_at: 141_000 };
  const all = (downs: number) => [
    incident(),
    incident({ ...across, downs, ups: downs }),
    incident({ started_at: 141_500, confirmed_at: 141_500, resolved_at: 161_000 }),
  ];
  expect(judged(all(0), [outage, next], of)).toMatchObject({
    outages: 2,
    missed: [],
    crooked: [],
    confirmed: 2,
  });
  expect(crookedDates(all(0).slice(1, 2), [outage], of)).toEqual([]);
  expect(judged(all(1), [outage, next], of).crooked.join()).toContain('several outages for one');
});

describe('times', () => {
  const faults = (more: Partial<Incident>, of: readonly Row[] = rows) =>
    crookedDates([incident(more)], [outage], of)
      .map(({ fault }) => fault)
      .join();
  const before = rows.filter(({ at }) => at < 130_000);

  test('that are those of stored checks are right, while it is open and when it is over', () => {
    expect(faults({})).toBe('');
    expect(faults({ resolved_at: null }, before)).toBe('');
    expect(
      faults({ resolved_at: null, confirmed_at: null, confirmed_continent: null }, before),
    ).toBe('');
  });

  test('without a check are found', () => {
    expect(faults({ started_at: 101_001 })).toContain('did not start');
    expect(faults({ confirmed_at: 101_101 })).toContain('was not confirmed when');
    expect(faults({ confirmed_continent: 'Europe' })).toContain('where it was seen');
    expect(faults({ resolved_at: 131_050 })).toContain('did not end');
  });

  test('that do not move when an earlier failure is handed over are found', () => {
    expect(
      faults({ started_at: 104_000, confirmed_at: 107_000, resolved_at: null }, before),
    ).toContain('later than the first failure');
    expect(faults({ confirmed_at: 107_000, resolved_at: null }, before)).toContain(
      'later than by the second continent',
    );
    const gaveUp = incident({
      confirmed_at: null,
      confirmed_continent: null,
      resolved_at: 103_000,
    });
    const since = incident({ started_at: 104_000, confirmed_at: 107_000, resolved_at: null });
    expect(crookedDates([gaveUp, since], [outage], before)).toEqual([]);
  });

  test('of a confirmation by a probe that failed shortly before, and reported nothing since, are those of the beginning', () => {
    const atOnce = {
      confirmed_at: 101_000,
      confirmed_continent: 'Asia' as const,
      resolved_at: null,
    };
    expect(faults(atOnce, [row(90_000, 'Asia', false), row(101_000, 'Europe', false)])).toBe('');
    expect(faults(atOnce, [row(90_000, 'Asia', true), row(101_000, 'Europe', false)])).toContain(
      'was not confirmed when',
    );
    expect(faults(atOnce, [row(40_000, 'Asia', false), row(101_000, 'Europe', false)])).toContain(
      'was not confirmed when',
    );
  });

  test('of a late continent, when others have seen the outage end, are those of an incident of its own', () => {
    const late = row(129_000, 'North America', false);
    const alone = incident({
      started_at: 129_000,
      seen_continent: 'North America',
      confirmed_at: null,
      confirmed_continent: null,
    });
    const told = [...rows, late, row(138_000, 'North America', true)];
    const both = [incident(), { ...alone, resolved_at: 138_000 }];
    expect(crookedDates(both, [outage], told)).toEqual([]);
    // Also where the one before is not judged itself.
    expect(crookedDates([incident(), alone], [outage], told, (one) => one === alone)).toEqual([]);
    expect(
      crookedDates([incident(), { ...alone, started_at: 129_001 }], [outage], told).map(
        ({ fault }) => fault,
      ),
    ).toEqual([expect.stringContaining('did not start when North America began')]);
  });

  test('may be those of a later confirmation while a third continent has not answered', () => {
    const silent = [row(60_000, 'North America', true), ...before];
    const late = { confirmed_at: 107_000, resolved_at: null };
    expect(faults(late, silent)).toBe('');
    const answered = [...silent, row(101_050, 'North America', false)];
    expect(faults(late, answered)).toContain('later than by the second continent');
    const long = [...silent, row(128_500, 'Asia', false), row(129_800, 'Asia', false)];
    expect(faults({ ...late, confirmed_at: 129_800 }, long)).toContain(
      'later than by the second continent',
    );
  });

  test('of an incident that two continents have refuted and that is open all the same are found', () => {
    expect(faults({ resolved_at: null })).toContain('is open although 2 continents');
    expect(faults({ resolved_at: null }, rows.slice(0, -1))).toBe('');
  });
});

describe('floods', () => {
  const every = (ms: number, count: number) =>
    Array.from({ length: count }, (_, nth) => ({ place, at: nth * ms }));

  test('are found, and turns, samples and the rechecks of rule 13 are none', () => {
    expect(floods(every(3_000, 100), [], 3_000)).toEqual([]);
    expect(floods([...every(3_000, 30), ...every(10, 12)], [], 3_000)).toEqual([]);
    expect(floods(every(140, 107), [], 3_000)).toHaveLength(1);
    expect(floods(every(140, 1_070), [], 3_000).length).toBeGreaterThan(5);
  });

  test('are found in a single second, too', () => {
    expect(floods([...every(3_000, 30), ...every(10, 17)], [], 3_000)).toEqual([]);
    expect(floods([...every(3_000, 30), ...every(10, 21)], [], 3_000)[0]).toContain(
      'in the 1 s before',
    );
  });

  test('are larger where partitions change hands, because each owner has a budget of its own', () => {
    const twice = every(300, 50);
    expect(floods(twice, [], 3_000)).not.toEqual([]);
    expect(floods(twice, [{ from: 0, until: 5_000 }], 3_000)).toEqual([]);
  });
});

describe('pings', () => {
  const ping = (at: number, kind: StoredPing['kind'] = 'success'): StoredPing => ({
    id: `${at}`,
    place: 'job',
    kind,
    at,
    body: `body ${at}`,
  });
  const stored = [ping(1_000), ping(20_000), ping(21_000, 'fail'), ping(24_000)];
  const silence = incident({
    place: 'job',
    started_at: 9_000,
    confirmed_at: 9_500,
    resolved_at: 20_000,
  });
  const failure = incident({
    place: 'job',
    started_at: 21_000,
    confirmed_at: 21_000,
    resolved_at: 24_000,
  });
  const judgedPings = (
    incidents: readonly Incident[],
    of: readonly StoredPing[] = stored,
    denied: readonly string[] = [],
  ) =>
    judgePings({
      places: ['job'],
      taken: stored,
      stored: of,
      incidents,
      denied,
      deadlineMs: 8_000,
      until: 90_000,
    });

  test('that are all there, each silence and failure an incident with their times, are right', () => {
    expect(judgedPings([silence, failure])).toEqual({ taken: 4, lost: [], crooked: [] });
  });

  test('that are missing or doubled are found, and an address that was refused', () => {
    expect(judgedPings([silence, failure], stored.slice(0, 3)).lost).toHaveLength(1);
    expect(
      judgedPings([silence, failure], [...stored, { ...ping(24_000), id: 'again' }]).crooked.join(),
    ).toContain('2 times');
    expect(judgedPings([silence, failure], stored, ['job']).crooked.join()).toContain(
      'no such address',
    );
  });

  test('a failure without an incident, and a long silence without one, are found', () => {
    expect(judgedPings([silence]).crooked.join()).toContain('failed at');
    const long = [ping(1_000), ping(90_000)];
    expect(judgedPings([], long).crooked.join()).toContain('was silent');
  });

  test('an incident of a probe that had not received a ping in time ends in the moment of its confirmation, and only there', () => {
    const unheard = incident({
      place: 'job',
      started_at: 27_000,
      confirmed_at: 27_500,
      resolved_at: 27_500,
    });
    const more = [...stored, ping(26_000), ping(30_000)];
    expect(judgedPings([silence, failure, unheard], more).crooked).toEqual([]);
    expect(
      judgedPings([silence, failure, { ...unheard, resolved_at: 29_000 }], more).crooked,
    ).not.toEqual([]);
    // The next ping came before the confirmation was made.
    const late = incident({
      place: 'job',
      started_at: 9_000,
      confirmed_at: 20_050,
      resolved_at: 20_050,
    });
    expect(judgedPings([late, failure]).crooked).toEqual([]);
  });

  test('an incident that began or ended with no ping is found', () => {
    expect(judgedPings([{ ...silence, started_at: 9_001 }, failure]).crooked.join()).toContain(
      'started neither',
    );
    expect(judgedPings([silence, { ...failure, resolved_at: 23_000 }]).crooked.join()).toContain(
      'did not end with the next good ping',
    );
    expect(judgedPings([silence, { ...failure, resolved_at: null }]).crooked.join()).toContain(
      'did not end with the next good ping',
    );
  });
});

test('all is at rest when nothing is on its way any more, whatever was found while it happened and stays wrong', () => {
  const found: Omit<Report, 'rest_ms'> = {
    seed: 1,
    rounds: 1,
    struck: {},
    looks: 1,
    stalls: 0,
    balance: { seen: 7, stored: 7, in_flight: 0, lost: [], doubled: [], invented: [], moments: [] },
    verdict: judged([incident()]),
    pings: { taken: 0, lost: [], crooked: [] },
    told: { taken: 0, lost: [], wrong: [] },
    warnings: { stored: 0, wrong: [] },
    dates: ['a date'],
    floods: ['a flood'],
    standing: ['a partition'],
  };
  expect(isAtRest(found)).toBe(true);
  expect(holds({ ...found, rest_ms: 1 })).toBe(false);
  expect(isAtRest({ ...found, balance: { ...found.balance, lost: ['a result'] } })).toBe(false);
});

test('a partition that stores nothing new while all is healthy is found, with what coordinators report of themselves', async () => {
  let asked = 0;
  const look = (moves: (since: number) => readonly Row[]) =>
    findStalled({
      places: [place],
      rowsSince: async (since) => {
        asked += 1;
        return moves(since);
      },
      partitionOf: () => 7,
      health: async () => '{"status":"ok"}',
      standsMs: 1_000,
    });
  expect((await look((since) => (asked > 1 ? [row(since, 'Asia', true)] : []))).standing).toEqual(
    [],
  );
  expect((await look(() => [])).standing.join()).toMatch(/partitions 7 stood .*"ok"/);
});

test('a steady place that two sick continents call down is a false outage, unless a probe was lost', async () => {
  const truth = await createTruth(createChance(1), continents, 1, 0);
  onTestFinished(truth.close);
  truth.sicken(['Europe', 'Asia']);
  const now = Date.now();
  const called = { place: '/steady/0', from: now, until: now + 5_000 };
  expect(truth.isDoubtful(called)).toBe(false);
  expect(truth.isDoubtful({ ...called, place: '/failing/0' })).toBe(true);
  truth.lose();
  expect(truth.isDoubtful(called)).toBe(true);
  expect(truth.isDoubtful({ ...called, from: now - 120_000, until: now - 60_000 })).toBe(false);
});
