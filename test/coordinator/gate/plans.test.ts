import { beforeAll, describe, expect, test } from 'vitest';
import { enforceLimit, plans } from '../../../coordinator/gate/plans.ts';
import { maxOwned, planOfAnother } from '../../../coordinator/organisations/model.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  previewMaintenanceWindow,
  startMaintenanceNow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { showOrganisation } from '../../../shared/api/organisations.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('plans', () => {
  const bench = gateBench();
  const hour = 3_600_000;
  const day = 24 * hour;
  let house: TestOrganisation;
  let own: TestOrganisation;
  let monitors: string[];

  const iso = (at: number): string => new Date(at).toISOString();
  const used = async (what: string) =>
    (await bench.call(showOrganisation, house.owner)).used.find((one) => one.what === what);

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql, { plan: 'free' });
    own = await createTestOrganisation(bench.sql, { plan: 'self_hosted' });
    monitors = [
      (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'job' })).id,
    ];
  });

  test('a plan limits groups, and an existing one is still returned', async () => {
    const codes: string[] = [];
    for (let nth = 0; nth <= plans.free.groups; nth += 1)
      codes.push(await bench.refusal(createGroup, house.owner, { name: `G ${nth}` }));
    expect(codes).toEqual([...Array.from({ length: 20 }, () => 'taken'), 'plan_limit_groups']);
    const { id } = await bench.call(createGroup, house.owner, { name: 'g 7' });
    expect(await used('groups')).toEqual({ what: 'groups', count: 20, most: 20 });
    await bench.call(deleteGroup, house.owner, { group_id: id });
    expect(await bench.refusal(createGroup, house.owner, { name: 'g 7' })).toBe('taken');
  });

  test('a plan limits windows that are not over; past or deleted ones do not count, and come back only within the limit', async () => {
    const { now } = bench;
    const times = { starts_at: iso(now + hour), ends_at: iso(now + 2 * hour), monitors };
    const make = (more: object = {}) =>
      bench.refusal(createMaintenanceWindow, house.owner, { ...times, ...more });
    const { id: once } = await bench.call(createMaintenanceWindow, house.owner, times);
    const { id: yearly } = await bench.call(createMaintenanceWindow, house.owner, {
      ...times,
      rrule: 'FREQ=YEARLY',
    });
    const codes: string[] = [];
    for (let nth = 2; nth <= plans.free.windows; nth += 1) codes.push(await make());
    expect(codes).toEqual([...Array.from({ length: 18 }, () => 'taken'), 'plan_limit_windows']);
    expect(await used('windows')).toEqual({ what: 'windows', count: 20, most: 20 });
    await bench.call(deleteMaintenanceWindow, house.owner, { window_id: yearly });
    expect([await make({ rrule: 'FREQ=YEARLY' }), await make()]).toEqual([
      'taken',
      'plan_limit_windows',
    ]);

    bench.now = now + 3 * hour;
    const later = { starts_at: iso(bench.now + hour), ends_at: iso(bench.now + 2 * hour) };
    expect((await used('windows'))?.count).toBe(1);
    for (let nth = 1; nth < plans.free.windows; nth += 1) expect(await make(later)).toBe('taken');
    expect(
      await bench.refusal(updateMaintenanceWindow, house.owner, { window_id: once, ...later }),
    ).toBe('plan_limit_windows');
    expect(await bench.refusal(startMaintenanceNow, house.owner, { window_id: once })).toBe(
      'plan_limit_windows',
    );
    expect(
      await bench.refusal(updateMaintenanceWindow, house.owner, {
        window_id: once,
        name: 'Deploy',
      }),
    ).toBe('taken');
    bench.now = now;
  });

  test('a window occurs at most 5,000 times within the 90 days that are written down, under every plan', async () => {
    const others = [
      (await bench.call(createMonitor, own.owner, { type: 'heartbeat', name: 'job' })).id,
    ];
    const starts = Date.parse('2040-03-01T00:00:00Z');
    const times = { starts_at: iso(starts), ends_at: iso(starts + 60_000) };
    // Not one in the ninety days after its start: it is June that holds too many.
    const dense = { ...times, rrule: 'FREQ=MINUTELY;INTERVAL=7;BYMONTH=6' };
    await expect(bench.call(previewMaintenanceWindow, own.owner, dense)).rejects.toThrow(
      /6,172 times within 90 days, and 5,000 are the most/,
    );
    expect(
      await bench.refusal(createMaintenanceWindow, own.owner, { ...dense, monitors: others }),
    ).toBe('plan_limit_occurrences');
    const sparse = { ...dense, rrule: 'FREQ=MINUTELY;INTERVAL=9;BYMONTH=6' };
    const { id } = await bench.call(createMaintenanceWindow, own.owner, {
      ...sparse,
      monitors: others,
    });
    expect(
      await bench.refusal(updateMaintenanceWindow, own.owner, {
        window_id: id,
        rrule: dense.rrule,
      }),
    ).toBe('plan_limit_occurrences');
  });

  test('windows that are created and deleted before they covered anything leave no row', async () => {
    const { now } = bench;
    const others = [
      (await bench.call(createMonitor, own.owner, { type: 'heartbeat', name: 'job' })).id,
    ];
    const often = {
      starts_at: iso(now - hour),
      ends_at: iso(now - hour + 60_000),
      rrule: 'FREQ=HOURLY',
      monitors: others,
    };
    const { id } = await bench.call(createMaintenanceWindow, own.owner, often);
    const written = async () =>
      (await bench.sql`select 1 from maintenance_occurrences where window_id = ${id}`).length;
    expect(await written()).toBeGreaterThan(2_000);
    bench.now = now + day;
    await bench.call(deleteMaintenanceWindow, own.owner, { window_id: id });
    const kept = await written();
    expect([kept >= 25, kept <= 27]).toEqual([true, true]);
    bench.now = now;
  });

  test('one window covers ten thousand monitors, named or by their group', async () => {
    const group = (await bench.call(createGroup, own.owner, { name: 'Fleet' })).id;
    const made = await bench.sql<{ id: string }[]>`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
    select gen_random_uuid(), ${own.organisation}, 0, 'm', 'heartbeat', '', 60, ${group} from generate_series(1, 10000) returning id`;
    const times = { starts_at: iso(bench.now + hour), ends_at: iso(bench.now + 2 * hour) };
    const named = made.map(({ id }) => id);
    const window = await bench.call(createMaintenanceWindow, own.owner, {
      ...times,
      monitors: named,
    });
    expect(window.monitors).toHaveLength(10_000);
    expect(
      (
        await bench.call(updateMaintenanceWindow, own.owner, {
          window_id: window.id,
          monitors: named.slice(1),
        })
      ).monitors,
    ).toHaveLength(9_999);
    expect(
      await bench.call(createMaintenanceWindow, own.owner, { ...times, groups: [group] }),
    ).toMatchObject({ groups: [group] });
  });

  test('a plan with a limit of zero says so', () => {
    expect(() => enforceLimit('private_probes', 'free', 0)).toThrow(
      'The plan free has no private probes; take a larger plan.',
    );
  });

  test.each([
    [
      'members',
      1,
      'The plan free allows 1 member, and there is 1. Remove one, or take a larger plan.',
    ],
    [
      'monitors',
      plans.free.monitors,
      `allows ${plans.free.monitors} monitors, and there are ${plans.free.monitors}. Delete one,`,
    ],
  ] as const)(
    'one %s more than the plan has is refused in words that fit the number',
    (of, present, words) => {
      expect(() => enforceLimit(of, 'free', present)).toThrow(words);
    },
  );
});

describe('another organisation', () => {
  const outcome = (...asked: Parameters<typeof planOfAnother>): string => {
    const plan = planOfAnother(...asked);
    return plan instanceof Refusal ? plan.code : plan;
  };
  const open = { signUp: 'open', signUpPlan: 'free', mail: true } as const;
  const invited = { signUp: 'invited', signUpPlan: 'free', mail: true } as const;

  test('has the plan of new sign-ups, where sign-up is open, for users who verified their address', () => {
    expect(outcome({ owned: ['business'], isProven: true }, open)).toBe('free');
    expect(outcome({ owned: [], isProven: true }, open)).toBe('free');
    expect(outcome({ owned: ['business'], isProven: false }, open)).toBe('email_unproven');
  });

  test('has the plan of the first that they own, where sign-up is by invitation', () => {
    expect(outcome({ owned: ['business', 'free'], isProven: false }, invited)).toBe('business');
    expect(outcome({ owned: [], isProven: true }, invited)).toBe('sign_up_closed');
    expect(outcome({ owned: [], isProven: true }, { ...open, mail: false })).toBe('sign_up_closed');
  });

  test('is refused beyond a few, for every user', () => {
    const owned = Array.from({ length: maxOwned }, () => 'free' as const);
    expect(outcome({ owned, isProven: true }, open)).toBe('organisations_enough');
    expect(outcome({ owned, isProven: true }, invited)).toBe('organisations_enough');
    expect(outcome({ owned: owned.slice(1), isProven: true }, invited)).toBe('free');
  });
});
