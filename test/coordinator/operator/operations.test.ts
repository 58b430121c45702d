import { beforeAll, describe, expect, test } from 'vitest';
import { setAside } from '../../../coordinator/engine/queries.ts';
import type { Person } from '../../../coordinator/gate/caller.ts';
import { handlers } from '../../../coordinator/operations.ts';
import {
  dropSetAside,
  listOrganisations,
  listSetAside,
  markOperator,
  retrySetAside,
  showFigures,
  unmarkOperator,
} from '../../../coordinator/operator/contract.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { type Operation, type OutputOf, rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { version } from '../../../shared/base/process.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/**
 * The operator's page asks through the gate alone: here the gate is asked as if a page had
 * forgotten to look who asks.
 */

const bench = gateBench();

let house: TestOrganisation;
beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'harbour' });
});

/** Somebody signed in who claims to be an operator. */
const signedIn = ({ user, email }: TestOrganisation['owner'], proven_at = bench.now): Person => ({
  user,
  email,
  name: '',
  email_verified: true,
  is_operator: true,
  session: newId(),
  proven_at,
  from: { address: '192.0.2.1', device: 'a test' },
});

const ask = async <Op extends Operation>(operation: Op, person: Person, input: object = {}) =>
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  (await bench.gate.executeForOperator(operation, person, rawInput(operation, input)))
    .body as OutputOf<Op>;

const refusal = (operation: Operation, person: Person, input: object = {}): Promise<string> =>
  ask(operation, person, input).then(
    () => 'taken',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

const mark = (operation: Operation, email: string) =>
  bench.gate.executeForInstallation(operation, rawInput(operation, { email }));

const messages = async (): Promise<readonly number[]> =>
  (await bench.sql<{ id: number }[]>`select id from set_aside order by id`).map(({ id }) => id);

describe('a user who is not an operator', () => {
  test.each(
    Object.values(handlers.operator).map(({ operation }) => [operation.id, operation] as const),
  )('gets not_found by %s, whatever their role and their claim', async (_id, operation) => {
    for (const person of [house.owner, house.admin, house.member, house.viewer])
      expect(await refusal(operation, signedIn(person), { set_aside_id: 'no number' })).toBe(
        'route_not_found',
      );
  });
});

describe('an operator', () => {
  test('is one from the grant until it is revoked, and the log says by whom', async () => {
    const person = signedIn(house.viewer);
    const marked = await mark(markOperator, house.viewer.email.toUpperCase());
    expect(marked.body).toEqual({ id: person.user, email: house.viewer.email, is_operator: true });
    expect(await refusal(listOrganisations, person)).toBe('taken');
    await mark(unmarkOperator, house.viewer.email);
    expect(await refusal(listOrganisations, person)).toBe('route_not_found');
    expect(await refusal(retrySetAside, person, { all: true })).toBe('route_not_found');
    const log =
      await bench.sql`select who, operation from audit_log where operation in ('markOperator', 'unmarkOperator') order by key`;
    expect([...log]).toEqual([
      { who: 'operator', operation: 'markOperator' },
      { who: 'operator', operation: 'unmarkOperator' },
    ]);
    await expect(mark(markOperator, 'nobody@example.org')).rejects.toMatchObject({
      code: 'user_not_found',
    });
  });

  test('cannot create sign-in links in the browser', async () => {
    await mark(markOperator, house.member.email);
    for (const { operation } of Object.values(handlers.installation).filter(
      (each) => each.operation.audience === 'installation',
    ))
      expect([operation.id, await refusal(operation, signedIn(house.member))]).toEqual([
        operation.id,
        'internal',
      ]);
  });

  test('sees every organisation by its name, a page at a time', async () => {
    await mark(markOperator, house.member.email);
    const operator = signedIn(house.member);
    for (const name of ['Anchor', 'Zebra', 'anchor'])
      await createTestOrganisation(bench.sql, { name });
    await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Backup' });
    const first = await ask(listOrganisations, operator, { limit: 3 });
    expect(first.items.map(({ name }) => name)).toEqual(['Anchor', 'anchor', 'harbour']);
    expect(first.items[2]).toMatchObject({
      id: house.organisation,
      plan: 'self_hosted',
      monitors: 1,
      members: 4,
    });
    const second = await ask(listOrganisations, operator, { limit: 3, cursor: first.next_cursor });
    expect(second).toMatchObject({ items: [{ name: 'Zebra', monitors: 0 }], next_cursor: null });
  });

  test('sees the figures of the installation', async () => {
    await mark(markOperator, house.member.email);
    const operator = signedIn(house.member);
    const { id } = await bench.call(createMonitor, house.owner, {
      type: 'heartbeat',
      name: 'Nightly',
    });
    const before = await ask(showFigures, operator);
    expect(before).toMatchObject({
      checks: null,
      open_incidents: 0,
      watcher: null,
      version,
      time_zone_data: { version: process.versions.tz },
    });
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${newId()}, ${house.organisation}, ${id}, now(), now())`;
    const hour = Math.floor(bench.now / 3_600_000) * 3_600_000;
    const at = (back: number): number => hour - back * 3_600_000;
    // Neither the hour that goes on nor one long ago.
    for (const [partition, back, checks] of [
      [0, 0, 1],
      [1, 1, 20],
      [2, 1, 5],
      [3, 5, 300],
    ] as const)
      await bench.sql`update sealed_hours set newest = ${new Date(at(back))}, checks = ${checks}
        where partition = ${partition}`;
    const after = await ask(showFigures, operator);
    expect(after).toMatchObject({
      checks: { from: new Date(at(1)).toISOString(), to: new Date(at(0)).toISOString(), count: 25 },
      open_incidents: 1,
      monitors: [
        { kind: 'heartbeat', count: before.monitors.reduce((sum, { count }) => sum + count, 0) },
      ],
    });
  });

  test('drops what was set aside only with a proof that is not old, and the log says who', async () => {
    await mark(markOperator, house.member.email);
    await setAside(bench.sql, {
      subject: 'results.p.3',
      reason: 'broken',
      data: Buffer.from('{}'),
    });
    const [id] = await messages();
    const late = signedIn(house.member, bench.now - 24 * 3_600_000);
    expect((await ask(listSetAside, late)).items.map((each) => each.id)).toEqual([id]);
    expect(await refusal(dropSetAside, late, { set_aside_id: id })).toBe('proof_needed');
    expect(await messages()).toEqual([id]);
    expect(await ask(dropSetAside, signedIn(house.member), { set_aside_id: id })).toEqual({
      dropped: [id],
    });
    expect(await messages()).toEqual([]);
    const log =
      await bench.sql`select who, through from audit_log where operation = 'dropSetAside'`;
    expect([...log]).toEqual([{ who: house.member.email, through: 'page' }]);
  });
});
