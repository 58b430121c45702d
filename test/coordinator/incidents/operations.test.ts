import { beforeAll, describe, expect, test } from 'vitest';
import {
  listFoldedIncidents,
  listIncidentChoices,
} from '../../../coordinator/incidents/contract.ts';
import { freezeSamples } from '../../../coordinator/incidents/sample-queries.ts';
import { lastDowns } from '../../../coordinator/incidents/writes.ts';
import { dropResultDays, makeResultDays } from '../../../coordinator/results/retention.ts';
import {
  acknowledgeIncident,
  assignIncident,
  getIncident,
  getIncidentEvidence,
  listIncidents,
  unacknowledgeIncident,
  writePostMortem,
} from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('operations', () => {
  const bench = gateBench({ signUp: 'invited', signUpPlan: 'free', mail: true });
  const now = Date.parse('2026-11-20T12:00:00Z');
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;
  let monitor: string;
  let other: string;

  type Row = {
    readonly started: string;
    readonly resolved?: string;
    readonly confirmed?: string;
    readonly of?: string;
    readonly house?: TestOrganisation;
  };

  const incident = async ({
    started,
    resolved,
    confirmed,
    of = monitor,
    house: at = house,
  }: Row): Promise<string> => {
    const id = newId();
    const from = { name: 'Oslo', continent: 'Europe' };
    const by =
      confirmed === undefined
        ? { name: null, continent: null }
        : { name: 'Tokyo', continent: 'Asia' };
    await bench.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, confirmed_probe,
      confirmed_continent, cause, note)
    values (${id}, ${at.organisation}, ${of}, ${started}, ${confirmed ?? null}, ${resolved ?? null}, ${from.name}, ${from.continent}, ${by.name},
      ${by.continent}, '{"class":"probe_internal","params":{}}', null)`;
    return id;
  };

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
    monitor = (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Shop' }))
      .id;
    other = (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Other' })).id;
  });

  const listed = async (input: object = {}, who = house): Promise<string[]> =>
    (await bench.call(listIncidents, who.viewer, input)).items.map(({ id }) => id);

  test('who acknowledged it, and when, is in an incident, in lists of them and beside its evidence', async () => {
    const id = await incident({
      started: '2026-11-20T11:00:00Z',
      confirmed: '2026-11-20T11:00:01Z',
    });
    const nobody = { acknowledged_at: null, acknowledged_by: null };
    expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject(nobody);
    const { acknowledged_at, acknowledged_by } = await bench.call(
      acknowledgeIncident,
      house.owner,
      { incident_id: id },
    );
    const somebody = { acknowledged_at, acknowledged_by };
    expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject(
      somebody,
    );
    expect(await bench.call(getIncidentEvidence, house.viewer, { incident_id: id })).toMatchObject(
      somebody,
    );
    const { items } = await bench.call(listIncidents, house.viewer, { state: 'open' });
    expect(items.find((item) => item.id === id)).toMatchObject(somebody);
    await bench.sql`delete from incidents where id = ${id}`;
  });

  test('can be assigned to a member and handed back while it is open, and says who had it', async () => {
    const [started, confirmed] = ['2026-11-20T11:00:00Z', '2026-11-20T11:00:01Z'];
    const id = await incident({ started, confirmed });
    const own = { incident_id: id };
    const { email } = house.member;
    await bench.call(acknowledgeIncident, house.owner, own);
    expect(
      await bench.call(assignIncident, house.owner, { ...own, email: email.toUpperCase() }),
    ).toMatchObject({ incident: id, acknowledged_by: email });
    const mails =
      await bench.sql`select recipient, told as about from deliveries where event = 'assigned'`;
    expect(mails).toEqual([
      { recipient: email, about: { incident: id, name: 'Shop', by: house.owner.email } },
    ]);
    await bench.call(unacknowledgeIncident, house.member, own);
    await bench.call(unacknowledgeIncident, house.member, own);
    expect(await bench.call(getIncident, house.viewer, own)).toMatchObject({
      acknowledged_at: null,
      acknowledged_by: null,
    });
    const { owners } = await bench.call(getIncidentEvidence, house.viewer, own);
    expect(owners.map(({ event, owner, by }) => [event, owner, by])).toEqual([
      ['acknowledged', house.owner.email, null],
      ['assigned', email, house.owner.email],
      ['handed_back', email, email],
    ]);
    const [{ events } = { events: [] }] = await bench.sql<{ events: string[] }[]>`
      select array_agg(what order by id) as events from events where incident_id = ${id}`;
    expect(events.slice(2)).toEqual(['incident.acknowledged', 'incident.unacknowledged']);
    const stranger = { ...own, email: unknownSender.owner.email };
    expect(await bench.refusal(assignIncident, house.owner, stranger)).toBe('member_not_found');
    // The database takes no such text.
    const unwritable = { ...own, email: 'a\u0000@shop.example' };
    expect(await bench.refusal(assignIncident, house.owner, unwritable)).toBe('member_not_found');
    await bench.sql`update incidents set resolved_at = started_at where id = ${id}`;
    for (const [operation, input] of [
      [assignIncident, { ...own, email }],
      [unacknowledgeIncident, own],
    ] as const)
      expect(await bench.refusal(operation, house.owner, input)).toBe('incident_over');
    await bench.sql`delete from incidents where id = ${id}`;
  });

  test('has a post-mortem, as a draft or published, which an empty text deletes', async () => {
    const id = await incident({
      started: '2026-11-20T11:00:00Z',
      resolved: '2026-11-20T11:10:00Z',
    });
    const written = async () =>
      (await bench.call(getIncidentEvidence, house.viewer, { incident_id: id })).post_mortem;
    const write = (text: string, published: boolean) =>
      bench.call(writePostMortem, house.member, { incident_id: id, text, published });
    expect(await written()).toBeNull();
    await write(' A disk was full. ', false);
    expect(await written()).toMatchObject({
      text: 'A disk was full.',
      by: house.member.email,
      published_at: null,
    });
    expect(await write('A disk was full. We have alarms now.', true)).toEqual({
      post_mortem: await written(),
    });
    expect((await written())?.published_at).toBe(new Date(bench.now).toISOString());
    expect(
      await bench.refusal(writePostMortem, house.member, {
        incident_id: id,
        text: 'x'.repeat(20_001),
        published: true,
      }),
    ).toBe('note_invalid');
    await write('  ', true);
    expect(await written()).toBeNull();
    await bench.sql`delete from incidents where id = ${id}`;
  });

  describe('listIncidents', () => {
    test('finds those with a cause, an owner, and those without an owner', async () => {
      const [a, b] = [
        await incident({ started: '2026-11-20T10:00:00Z', confirmed: '2026-11-20T10:00:01Z' }),
        await incident({ started: '2026-11-20T10:10:00Z', of: other }),
      ];
      await bench.sql`update incidents set layer = 'tls' where id = ${a}`;
      await bench.call(acknowledgeIncident, house.owner, { incident_id: a });
      const acknowledged_by = house.owner.email;
      expect(await listed({ layer: 'tls' })).toEqual([a]);
      expect(await listed({ layer: 'dns' })).toEqual([]);
      expect(await listed({ acknowledged: true })).toEqual([a]);
      expect(await listed({ acknowledged: false })).toEqual([b]);
      expect(await listed({ acknowledged_by })).toEqual([a]);
      expect(await listed({ acknowledged_by: 'Nobody' })).toEqual([]);
      expect(await listed({ acknowledged_by: 'No\0body' })).toEqual([]);
      expect(await bench.call(listIncidentChoices, house.viewer, {})).toEqual({
        monitors: [
          { id: other, name: 'Other' },
          { id: monitor, name: 'Shop' },
        ],
        layers: ['tls'],
        owners: [acknowledged_by],
      });
      await bench.sql`delete from incidents where id = any(${[a, b]})`;
    });

    test('folds resolved ones of a monitor over more than one page, and goes on where it ended', async () => {
      const single = await incident({ started: '2026-11-19', resolved: '2026-11-19', of: other });
      const many = (count: number) => bench.sql`
        insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
          resolved_at)
        select gen_random_uuid(), ${house.organisation}, ${monitor}, at, at, at
        from generate_series(1, ${count}::int) n, lateral (select
          ${new Date(now)}::timestamptz - interval '1 minute' as at)`;
      await many(450);
      const open = await incident({ started: '2026-11-20', of: monitor });
      const list = (more: Record<string, unknown> = {}) =>
        bench.call(listFoldedIncidents, house.viewer, { limit: 100, ...more });
      const { items, next_cursor } = await list();
      expect(items.map(({ monitor: of, times, recent }) => [of, times, recent])).toEqual([
        [monitor, 450, 450],
        [other, 1, 0],
      ]);
      expect(next_cursor).toBeNull();
      // What one page is read from has an end; the next one goes on there.
      await many(600);
      const first = await list();
      expect(first.items.map(({ times }) => times)).toEqual([1_000]);
      const next = await list({ cursor: first.next_cursor });
      expect(next.items.map(({ times }) => times)).toEqual([50, 1]);
      expect(next.items.at(-1)?.id).toBe(single);
      expect(next.next_cursor).toBeNull();
      const short = await list({ limit: 1, cursor: first.next_cursor });
      const last = await list({ limit: 1, cursor: short.next_cursor });
      expect([short.items.length, last.items.length]).toEqual([1, 1]);
      expect([...short.items, ...last.items].map(({ id }) => id)).not.toContain(open);
      await bench.sql`delete from incidents where organisation_id = ${house.organisation}`;
    });

    test('gives newest first; those that touch the days, and open ones whatever the days say', async () => {
      const old = await incident({ started: '2026-01-01', resolved: '2026-01-02' });
      const reaching = await incident({ started: '2026-10-01', resolved: '2026-10-25' });
      const recent = await incident({ started: '2026-11-01', resolved: '2026-11-01', of: other });
      const open = await incident({ started: '2025-01-01', of: other });
      const everything = [open, recent, reaching, old];
      expect(await listed({ days: 365 })).toEqual(everything);
      expect(await listed()).toEqual([open, recent, reaching]);
      expect(await listed({ days: 20 })).toEqual([open, recent]);
      expect(await listed({ days: 1 })).toEqual([open]);
      expect(await listed({ state: 'open', days: 1 })).toEqual([open]);
      expect(await listed({ state: 'resolved', days: 365 })).toEqual([recent, reaching, old]);
      expect(await listed({ monitor, days: 365 })).toEqual([reaching, old]);
      expect(await listed({ monitor: other, state: 'open' })).toEqual([open]);
      expect(await listed({ days: 365 }, unknownSender)).toEqual([]);
      expect(await bench.refusal(listIncidents, house.owner, { monitor: newId() })).toBe(
        'monitor_not_found',
      );
      expect(await bench.refusal(listIncidents, unknownSender.owner, { monitor })).toBe(
        'monitor_not_found',
      );
      expect(await bench.refusal(listIncidents, house.owner, { state: 'closed' })).toBe('faults');
      expect(await bench.refusal(listIncidents, house.owner, { days: 0 })).toBe('faults');
      const first = await bench.call(listIncidents, house.owner, { days: 365, limit: 3 });
      expect(first.items.map(({ id }) => id)).toEqual(everything.slice(0, 3));
      expect(await listed({ days: 365, limit: 3, cursor: first.next_cursor })).toEqual([old]);
    });
  });

  describe('getIncident', () => {
    test('returns when, by whom and why, in our own words', async () => {
      const nowhere = { region: null, place: null };
      await bench.sql`insert into probes (id, name, continent, origin_as)
        values (${newId()}, 'Oslo', 'Europe', 64500)`;
      const id = await incident({
        started: '2026-11-19T10:00:00Z',
        confirmed: '2026-11-19T10:00:01.5Z',
        resolved: '2026-11-19T10:30:00Z',
      });
      expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toEqual({
        id,
        monitor,
        monitor_name: 'Shop',
        cause: 'The probe failed in its own code',
        open: false,
        note: null,
        started_at: '2026-11-19T10:00:00.000Z',
        confirmed_at: '2026-11-19T10:00:01.500Z',
        resolved_at: '2026-11-19T10:30:00.000Z',
        seen_from: { name: 'Oslo', ...nowhere, continent: 'Europe', origin_as: 64_500 },
        confirmed_from: { name: 'Tokyo', ...nowhere, continent: 'Asia', origin_as: null },
        scope: null,
        layer: null,
        acknowledged_at: null,
        acknowledged_by: null,
        continents: null,
        sides: null,
        cause_id: null,
        duration_s: 1_800,
      });
      await bench.sql`delete from probes where name = 'Oslo'`;
      await bench.sql`update incidents set scope = 'some_continents', layer = 'tls' where id = ${id}`;
      expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject({
        scope: 'some_continents',
        layer: 'tls',
      });
      const unconfirmed = await incident({ started: '2026-11-20T10:00:00Z' });
      expect(
        await bench.call(getIncident, house.viewer, { incident_id: unconfirmed }),
      ).toMatchObject({
        open: true,
        confirmed_at: null,
        resolved_at: null,
        confirmed_from: null,
        // So far: until the moment of asking.
        duration_s: (bench.now - Date.parse('2026-11-20T10:00:00Z')) / 1_000,
      });
    });

    test('says what both sides saw, with the places of its organisation by name', async () => {
      const times = { started: '2026-11-18', confirmed: '2026-11-18', resolved: '2026-11-18' };
      const id = await incident(times);
      const office = newId();
      for (const [place, of] of [
        [office, house],
        [newId(), unknownSender],
      ] as const)
        await bench.sql`insert into places (id, organisation_id, name, continent)
          values (${place}, ${of.organisation}, 'Office Berlin', 'Europe')`;
      const saw = { failed: ['Europe', 'Asia'], passed: ['Africa'], asked: [] };
      const across = { failed: [], passed: [office] };
      await bench.sql`update incidents set progress = ${JSON.stringify({ progress: { ...saw, across } })}
        where id = ${id}`;
      const { sides } = await bench.call(getIncident, house.viewer, { incident_id: id });
      expect(sides).toEqual({
        verdict: 'way_in',
        sentence:
          'Up inside (Office Berlin), down from two continents: check edge, firewall or DNS.',
        inside: { failing: [], passing: ['Office Berlin'] },
        outside: { failing: ['Europe', 'Asia'], passing: ['Africa'] },
      });
    });

    test('says in which region or private place its probes are', async () => {
      const id = await incident({ started: '2026-11-17', resolved: '2026-11-17' });
      const office = newId();
      await bench.sql`insert into places (id, organisation_id, name, continent)
        values (${office}, ${house.organisation}, 'Office', 'Europe')`;
      await bench.sql`insert into probes (id, name, continent, region)
        values (${newId()}, 'Oslo', 'Europe', 'eu-north')`;
      const seen = async () =>
        (await bench.call(getIncident, house.viewer, { incident_id: id })).seen_from;
      expect(await seen()).toMatchObject({ name: 'Oslo', region: 'eu-north', place: null });
      await bench.sql`update incidents set seen_place = ${office} where id = ${id}`;
      expect(await seen()).toMatchObject({ name: 'Oslo', region: null, place: 'Office' });
    });
  });
});

describe('the evidence of an incident', () => {
  const bench = gateBench();
  const day = 86_400_000;
  const minute = 60_000;
  const now = Math.floor(Date.now() / 1000) * 1000;
  let house: TestOrganisation;
  let europe: string;
  let asia: string;

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    europe = await bench.addProbe('Europe');
    asia = await bench.addProbe('Asia');
    await makeResultDays(bench.sql, now - 12 * day, now + 2 * day);
  });

  const iso = (at: number): string => new Date(at).toISOString();

  const monitor = async (): Promise<string> => {
    const { id } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://example.com',
    });
    await bench.sql`update monitors set created_at = ${iso(now - 12 * day)} where id = ${id}`;
    return id;
  };

  const incident = async (of: string, from: number, to: number | null): Promise<string> => {
    const id = newId();
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    values (${id}, ${house.organisation}, ${of}, ${iso(from)}, ${iso(from)}, ${to === null ? null : iso(to)})`;
    return id;
  };

  /** Results every so often, of one probe. */
  const results = async (
    of: string,
    probe: string,
    from: number,
    to: number,
    step: number,
    outcome: 'ok' | 'fail',
  ): Promise<void> => {
    const cause = outcome === 'fail' ? 'http_status' : null;
    const checks = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, nth) => ({
      probe,
      at: from + nth * step,
      took_ms: 25,
      outcome,
      cause,
    }));
    await storeChecks(bench.sql, of, checks);
  };

  const evidence = (id: string, who = house) =>
    bench.call(getIncidentEvidence, who.viewer, { incident_id: id });
  const freeze = (endedBefore = now, keptFrom = now - 10 * day) =>
    bench.sql.begin((transaction) =>
      freezeSamples(transaction, testResults(), { endedBefore, keptFrom }),
    );

  test('rule 42: shows what every continent saw, from shortly before it began to shortly after it ended', async () => {
    const id = await monitor();
    const began = now - 30 * minute;
    await results(id, europe, began - 10 * minute, began - minute, minute, 'ok');
    await results(id, europe, began, began + 4 * minute, minute, 'fail');
    await results(id, asia, began + 30_000, began + 4 * minute, minute, 'ok');
    const of = await incident(id, began, began + 5 * minute);
    const { samples, samples_complete, duration_s, effect } = await evidence(of);
    expect(samples_complete).toBe(true);
    expect(duration_s).toBe(300);
    expect(
      samples.map(({ at, continent, outcome }) => [
        (Date.parse(at) - began) / 1_000,
        continent,
        outcome,
      ]),
    ).toEqual([
      [-60, 'Europe', 'ok'],
      ...[0, 1, 2, 3].flatMap((minutes) => [
        [60 * minutes, 'Europe', 'fail'],
        [60 * minutes + 30, 'Asia', 'ok'],
      ]),
      [240, 'Europe', 'fail'],
    ]);
    expect(samples.find(({ outcome }) => outcome === 'fail')).toMatchObject({
      cause_class: 'http_status',
      took_ms: 25,
    });
    expect(effect).toMatchObject({ days: 30, down_seconds: 300 });
    expect(effect.percent).toBeLessThan(effect.percent_without ?? 0);
    expect(effect.window_s).toBe((12 * day - 25 * minute) / 1_000);
    // What comes after its end changes nothing of it.
    await incident(id, now - 10 * minute, now - 2 * minute);
    bench.now = now + day;
    expect((await evidence(of)).effect).toEqual(effect);
    bench.now = now;
  });

  test('rule 42: stays when the results are dropped, and takes in what came late', async () => {
    const id = await monitor();
    const began = now - 9 * day;
    await results(id, europe, began, began + 4 * minute, minute, 'fail');
    const of = await incident(id, began, began + 5 * minute);
    const before = (await evidence(of)).samples;
    expect(before).toHaveLength(5);
    while (await freeze());
    await dropResultDays(bench.sql, now - 5 * day);
    expect((await evidence(of)).samples).toEqual(before);
  });

  test('rule 42: is the same where the passes are in chunks alone', async () => {
    const id = await monitor();
    const began = now - 30 * minute;
    await results(id, europe, began, began + 4 * minute, minute, 'fail');
    await results(id, asia, began - minute, began + 4 * minute, minute, 'ok');
    const of = await incident(id, began, began + 5 * minute);
    const { samples } = await evidence(of);
    expect(samples).toHaveLength(5 + 6);
    expect((await evidence(of)).samples).toEqual(samples);
    while (await freeze());
    await bench.sql`delete from chunks`;
    expect((await evidence(of)).samples).toEqual(samples);
  });

  test('rule 42: of one that lasts longer than results are kept, the beginning stays, and what comes after it is added', async () => {
    const id = await monitor();
    const began = now - 4 * day;
    await results(id, europe, began, now - minute, 30 * minute, 'fail');
    const of = await incident(id, began, null);
    const before = (await evidence(of)).samples;
    while (await freeze(now, now - 3 * day));
    await dropResultDays(bench.sql, now - 2 * day);
    expect((await evidence(of)).samples).toEqual(before);
    await results(id, asia, now - 30_000, now - 30_000, minute, 'fail');
    expect((await evidence(of)).samples).toHaveLength(before.length + 1);
    await bench.sql`update incidents set resolved_at = ${iso(now - 20_000)} where id = ${of}`;
    while (await freeze());
    expect((await evidence(of)).samples).toHaveLength(before.length + 1);
  });

  test('rule 42: keeps at most 2,000 points, the beginning and the end whole', async () => {
    const id = await monitor();
    const began = now - 600 * minute;
    await results(id, europe, began, began + 9_999 * 3_000, 3_000, 'fail');
    const of = await incident(id, began, began + 9_999 * 3_000);
    while (await freeze());
    const { samples, samples_complete } = await evidence(of);
    expect(samples_complete).toBe(false);
    expect(samples.length).toBeLessThanOrEqual(2_000);
    expect(samples.length).toBeGreaterThan(1_900);
    const at = samples.map((sample) => (Date.parse(sample.at) - began) / 3_000);
    expect(at.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, place) => place));
    expect(at.slice(-500)).toEqual(Array.from({ length: 500 }, (_, place) => 9_500 + place));
  });

  test('is frozen once', async () => {
    await incident(await monitor(), now - 20 * minute, now - 15 * minute);
    while (await freeze());
    expect(await freeze()).toBe(false);
  });
});

/** What a coordinator that takes over a partition knows of outages that are over (rule 3). */
describe('last downs', () => {
  const bench = gateBench();

  type Dates = {
    readonly started: string;
    readonly confirmed?: string;
    readonly resolved?: string;
  };

  test('of each monitor the latest resolved outage of the last days; none of a heartbeat, or of another partition', async () => {
    const { sql } = bench;
    const { organisation } = await createTestOrganisation(sql);
    const monitor = async (
      name: string,
      type: 'https' | 'heartbeat',
      partition: number,
      incidents: readonly Dates[],
    ) => {
      const id = newId();
      await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${id}, ${organisation}, ${partition}, ${name}, ${type}, ${type === 'https' ? 'https://shop.example' : ''}, 60)`;
      for (const { started, confirmed, resolved } of incidents)
        await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent,
          confirmed_probe, confirmed_continent, cause)
        values (${newId()}, ${organisation}, ${id}, ${started}, ${confirmed ?? null}, ${resolved ?? null}, 'Oslo', 'Europe',
          ${confirmed === undefined ? null : 'Tokyo'}, ${confirmed === undefined ? null : 'Asia'}, '{"class":"probe_internal","params":{}}')`;
      return id;
    };
    const outage = {
      started: '2026-11-20T10:00:00Z',
      confirmed: '2026-11-20T10:00:01Z',
      resolved: '2026-11-20T10:20:00Z',
    };
    const before = {
      started: '2026-11-20T09:00:00Z',
      confirmed: '2026-11-20T09:00:01Z',
      resolved: '2026-11-20T09:20:00Z',
    };
    const lonely = { started: '2026-11-20T11:00:00Z', resolved: '2026-11-20T11:20:00Z' };
    const old = {
      started: '2026-11-01T10:00:00Z',
      confirmed: '2026-11-01T10:00:01Z',
      resolved: '2026-11-01T10:20:00Z',
    };
    const shop = await monitor('shop', 'https', 7, [before, outage, lonely]);
    const failing = await monitor('failing', 'https', 7, [
      outage,
      { started: '2026-11-20T12:00:00Z', confirmed: '2026-11-20T12:00:01Z' },
    ]);
    await monitor('old', 'https', 7, [old]);
    await monitor('well', 'https', 7, []);
    await monitor('job', 'heartbeat', 7, [outage]);
    await monitor('elsewhere', 'https', 8, [outage]);
    const last = { from: Date.parse(outage.started), to: Date.parse(outage.resolved) };
    expect(await lastDowns(sql, 7, Date.parse('2026-11-15T00:00:00Z'))).toEqual(
      new Map([
        [shop, last],
        [failing, last],
      ]),
    );
  });
});
