import { beforeEach, describe, expect, test } from 'vitest';
import { recordCoordinator } from '../../../coordinator/engine/queries.ts';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { insertProbe } from '../../../coordinator/probes/queries.ts';
import { createProbeTrust } from '../../../coordinator/probes/trust.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { testLog } from '../../support/network.ts';
import { ownDatabase } from '../../support/services.ts';
import { at, refused, story } from '../core/story.ts';

/** Rule 16: each coordinator sees only its own monitors, and all of them judge a probe together. */
describe('rule 16: a probe is judged by the observations of all coordinators', async () => {
  const { sql } = await ownDatabase();
  const places = ['Asia', 'Africa', 'Europe'] as const;
  const aliveMs = 60_000;
  let roster: Roster;
  let sick: string;

  beforeEach(async () => {
    await sql`delete from coordinators`;
    await sql`delete from notices`;
    await sql`delete from probes`;
    const probes = [];
    // Two in Asia, so that neither is the only one of its continent.
    for (const continent of [...places, 'Asia'] as const) {
      const [id, name] = [newId(), `probe-${newId()}`];
      await insertProbe(sql, id, { name, continent, organisation: null, key: newId() });
      probes.push({ id, name, continent, organisation: null, healthy: true, quarantined: false });
    }
    roster = { epoch: 1, probes };
    sick = probes[0]?.id ?? '';
  });

  /** One that decides about monitors of these hosts. */
  const coordinator = async (hosts: readonly number[]) => {
    const owner = newId();
    const live = () =>
      recordCoordinator(
        sql,
        { owner, version: '1', hasBus: true },
        { heardMs: aliveMs, countedMs: aliveMs },
      );
    await live();
    const directory = await createDirectory({ sql, log: testLog() });
    const clock = { now: () => at(102) };
    const targetsOf = (probe: string) => new Set(probe === sick ? hosts : []);
    const trust = createProbeTrust({
      sql,
      clock,
      log: testLog(),
      directory,
      roster: () => roster,
      owner,
      aliveMs,
      targetsOf,
    });
    await trust.settle();
    const probeIn = (place: (typeof places)[number]) =>
      roster.probes.find(({ continent }) => continent === place)?.id ?? '';
    /** The sick one sees this host fail (or pass, later), and then everybody else passes. */
    const sees = (host: number, ok = false) => {
      const life = story(places);
      life.network(roster);
      const tell = (place: (typeof places)[number], second: number, outcome: 'ok' | 'fail') => {
        const probe = probeIn(place);
        life.result(outcome, place, second, { probe });
        const seen = {
          seq: 1,
          monitor: 'monitor',
          config_version: 1,
          at: at(second),
          took_ms: 50,
          outcome,
          look: null,
          phases: null,
        };
        const from = { probe, name: place, continent: place };
        const result = {
          ...seen,
          cause: outcome === 'ok' ? null : refused,
          evidence: null,
          from,
          quarantined: false,
          handed_over: false,
        };
        trust.observe(result, { target: () => host, state: life.state, unwell: life.state });
      };
      tell('Africa', 100, 'ok');
      tell('Europe', 100.1, 'ok');
      tell('Asia', 100.2, ok ? 'ok' : 'fail');
      tell('Africa', 100.3, 'ok');
      tell('Europe', 100.4, 'ok');
    };
    return { owner, settle: trust.settle, sees, live };
  };
  type One = Awaited<ReturnType<typeof coordinator>>;

  const talk = async (...all: readonly One[]) => {
    for (let round = 0; round < 3; round += 1) for (const one of all) await one.settle();
  };
  const quarantined = async () =>
    (await sql<{ id: string }[]>`select id from probes where quarantined_at is not null`).map(
      ({ id }) => id,
    );
  const rows = () => sql`select * from refutations`;

  test('two that each see half of what is needed quarantine it together, and report it once', async () => {
    const [one, other] = [await coordinator([1, 2, 3, 4, 5]), await coordinator([6, 7, 8, 9, 10])];
    for (const host of [1, 2]) one.sees(host);
    other.sees(6);
    await talk(one, other);
    expect(await quarantined()).toEqual([]);
    other.sees(7);
    await talk(one, other);
    expect(await quarantined()).toEqual([sick]);
    expect(await sql`select 1 from notices`).toHaveLength(1);
    // Nobody holds anything against it any more.
    expect(await rows()).toEqual([]);
  });

  test('one that knows few of its hosts, and sees all of them fail, waits for what the other knows, and believes it', async () => {
    const [one, other] = [await coordinator([1, 2, 3]), await coordinator([4, 5, 6, 7, 8])];
    // Each has heard of the other.
    await talk(one, other);
    for (const host of [1, 2, 3]) one.sees(host);
    await one.settle();
    expect(await quarantined()).toEqual([]);
    await talk(other, one);
    expect(await quarantined()).toEqual([]);
    other.sees(4);
    await talk(other, one);
    expect(await quarantined()).toEqual([sick]);
  });

  test('a host that both know counts once', async () => {
    const [one, other] = [await coordinator([1, 2, 3, 4]), await coordinator([1, 2, 3, 4])];
    for (const host of [1, 2]) one.sees(host);
    for (const host of [1, 2]) other.sees(host);
    await talk(one, other);
    expect(await quarantined()).toEqual([]);
    other.sees(3);
    await talk(one, other);
    expect(await quarantined()).toEqual([sick]);
  });

  test('observations that no longer count are withdrawn, and without any nothing is written', async () => {
    const [one, other] = [await coordinator([1, 2, 3, 4, 5]), await coordinator([6, 7, 8, 9, 10])];
    one.sees(1);
    await talk(one, other);
    const before = await sql<{ coordinator: string; hosts: number }[]>`
      select coordinator_id as coordinator, jsonb_array_length(share->'hosts') as hosts from refutations`;
    expect(before.toSorted((a, b) => (a.coordinator < b.coordinator ? -1 : 1))).toEqual(
      [one.owner, other.owner].toSorted().map((owner) => ({ coordinator: owner, hosts: 5 })),
    );
    const written = () => sql`select xmin from refutations order by coordinator_id`;
    const versions = await written();
    await talk(one, other);
    expect(await written()).toEqual(versions);
    one.sees(1, true);
    await talk(one, other);
    expect(await rows()).toEqual([]);
  });

  test('observations of a coordinator that is gone do not count, and are deleted', async () => {
    const [one, other] = [await coordinator([1, 2, 3]), await coordinator([4, 5, 6])];
    for (const host of [1, 2]) one.sees(host);
    await talk(one, other);
    expect(await rows()).toHaveLength(2);
    await sql`update coordinators set seen_at = now() - interval '1 hour' where id = ${one.owner}`;
    for (const host of [4, 5]) other.sees(host);
    await other.settle();
    expect(await quarantined()).toEqual([]);
    await sql`delete from coordinators where id = ${one.owner}`;
    expect(await rows()).toEqual([]);
    other.sees(6);
    await other.settle();
    expect(await quarantined()).toEqual([sick]);
  });
});
