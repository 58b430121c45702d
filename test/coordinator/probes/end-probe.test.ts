import { beforeAll, describe, expect, test } from 'vitest';
import { listAudit } from '../../../coordinator/organisations/contract.ts';
import { listCheckers, showOwnProbe } from '../../../coordinator/probes/contract.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { endProbe, inviteProbe } from '../../../shared/api/probes.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** An organisation ends its own private probe, as the operator ends any. */

const bench = gateBench();
let house: TestOrganisation;
let strangers: TestOrganisation;
beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { plan: 'team' });
  strangers = await createTestOrganisation(bench.sql);
});

const monitorOf = (probe: string | null, name: string) =>
  bench.call(createMonitor, house.owner, {
    ...{ type: 'https', target: 'https://shop.example/', name, interval_s: 60 },
    config: probe === null ? {} : { probe },
  });

describe('a private probe', () => {
  test('is ended by those who manage: its keys are void, the bus is told, and what only it checks is named', async () => {
    const probe = await bench.addProbe('Europe', { house });
    const [till] = await Promise.all([monitorOf(probe, 'Till')]);
    await monitorOf(null, 'Shop');
    const own = { id: probe, monitors: [{ id: till.id, name: 'Till' }], monitor_count: 1 };
    expect(await bench.call(showOwnProbe, house.admin, { probe_id: probe })).toMatchObject(own);
    for (const who of [house.member, house.viewer])
      for (const operation of [endProbe, showOwnProbe])
        expect(await bench.refusal(operation, who, { probe_id: probe })).toBe('role_insufficient');
    const [before] = await bench.sql<{ keys: { key: string }[] }[]>`select keys from probes where id = ${probe}`;
    expect(await bench.call(endProbe, house.admin, { probe_id: probe })).toMatchObject(own);
    const [after] = await bench.sql<
      { keys: unknown[]; revoked_at: Date | null }[]
    >`select keys, revoked_at from probes where id = ${probe}`;
    expect(after).toMatchObject({ keys: [], revoked_at: expect.any(Date) });
    const keys = (before?.keys ?? []).map(({ key }) => key);
    expect(keys.length).toBeGreaterThan(0);
    expect(await bench.sql`select 1 from revoked_keys where key = any(${keys})`).toHaveLength(keys.length);
    const lines = await bench.sql<{ change: string }[]>`
      select payload ->> 'change' as change from outbox where topic = 'probe' and payload ->> 'probe' = ${probe} order by id`;
    expect(lines.at(-1)?.change).toBe('revoked');
    expect((await bench.call(listCheckers, house.owner)).items.map(({ id }) => id)).not.toContain(probe);
    const { items } = await bench.call(listAudit, house.owner);
    expect(items.find(({ operation }) => operation === 'endProbe')).toMatchObject({
      about: { id: probe },
      before: { continent: 'Europe' },
    });
    expect(await bench.refusal(endProbe, house.owner, { probe_id: probe })).toBe('probe_not_found');
  });

  test('that is public, of others, or nobody’s is not there', async () => {
    const ids = [await bench.addProbe('Asia'), await bench.addProbe('Asia', { house: strangers }), newId()];
    for (const probe_id of ids)
      for (const operation of [endProbe, showOwnProbe])
        expect(await bench.refusal(operation, house.owner, { probe_id })).toBe('probe_not_found');
    expect(await bench.sql`select 1 from probes where id = any(${ids}::uuid[]) and revoked_at is not null`).toEqual([]);
  });

  test('once ended, makes room in the plan', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'team' });
    const probes: string[] = [];
    while ((await bench.refusal(inviteProbe, small.owner, { name: newId(), continent: 'Africa' })) === 'taken') {
      await bench.sql`delete from probe_invitations where organisation_id = ${small.organisation}`;
      probes.push(await bench.addProbe('Africa', { house: small }));
    }
    await bench.call(endProbe, small.owner, { probe_id: probes[0] });
    expect(await bench.refusal(inviteProbe, small.owner, { name: newId(), continent: 'Africa' })).toBe('taken');
  });
});
