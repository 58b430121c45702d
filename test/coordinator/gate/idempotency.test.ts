import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { onceChapter } from '../../../coordinator/api/openapi.ts';
import { connect, type Queryable, type Sql } from '../../../coordinator/database/connect.ts';
import { createOperations } from '../../../coordinator/dependencies.ts';
import type { Caller } from '../../../coordinator/gate/caller.ts';
import type { Gate } from '../../../coordinator/gate/execute.ts';
import {
  deleteIdempotencyRecords,
  maxRecordsOfOrganisation,
  type Outcome,
  shrinkIdempotencyRecords,
} from '../../../coordinator/gate/idempotency.ts';
import { noTestRuns } from '../../../coordinator/monitors/test-run.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { createSecretsAtRest, type SecretsAtRest } from '../../../coordinator/secrets/at-rest.ts';
import { createGroup, updateGroup } from '../../../shared/api/groups.ts';
import { batchMonitors, createMonitor } from '../../../shared/api/monitors.ts';
import { InvalidInput, type Operation, rawInput } from '../../../shared/api/operation.ts';
import { createStatusPage, renewStatusPageLink } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { partitionOf } from '../../../shared/bus/subjects.ts';
import { testChannels } from '../../support/channels.ts';
import { testResults } from '../../support/checks.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

/**
 * Calls that name a key: each is done once, whatever is killed and whichever coordinator it comes
 * to.
 */
describe('done once', () => {
  const bench = gateBench();
  const day = 86_400_000;
  const newSecretKey = 'the key that comes after, which has enough characters';

  /** Another coordinator on the same database. */
  type Other = { readonly sql: Sql; readonly gate: Gate; readonly secrets: SecretsAtRest };
  const others: Other[] = [];
  const another = (secretKey = testSecretKey, previousKey?: string): Other => {
    const sql = connect(bench.database.url, { name: 'another', connections: 4 });
    const clock = { now: () => bench.now };
    const keys = { secretKey, previousKey };
    const secrets = createSecretsAtRest(secretKey, previousKey);
    const absent = (): never => {
      throw new Error('no probes and no tokens are made here');
    };
    const gate = createOperations({
      handlers,
      ...keys,
      sql,
      clock,
      results: testResults(),
      secrets,
      identifiesProbes: true,
      partitionOf,
      trials: noTestRuns,
      channels: testChannels(sql, secretKey, clock),
      mintToken: absent,
      baseUrl: () => 'https://antipode.test',
      probes: {
        createProbe: absent,
        rotateProbe: absent,
        revokeProbe: absent,
        enrolProbe: absent,
        isEnrolmentProof: () => false,
        welcome: absent,
      },
    });
    const made = { sql, gate, secrets };
    others.push(made);
    return made;
  };

  let house: TestOrganisation;
  let other: Other;
  beforeAll(() => {
    other = another();
  });
  beforeEach(async () => {
    house = await createTestOrganisation(bench.sql);
  });
  afterAll(async () => {
    // Connections that a test cut off never hear of their end.
    for (const { sql } of others) await sql.end({ timeout: 0 });
  });

  const send = (
    operation: Operation,
    input: object,
    {
      key = 'a key',
      who = house.owner.caller,
      at = bench.gate,
    }: { key?: string; who?: Caller; at?: Gate } = {},
  ): Promise<Outcome> =>
    at.executeOnce(operation, who, rawInput(operation, input), {
      key,
      request: `${operation.id} ${JSON.stringify(input)}`,
    });

  /** The id of what was made and whether it was told again, or the code of the refusal. */
  const told = async (
    asked: Promise<Outcome>,
  ): Promise<{ readonly id?: unknown; readonly code?: string; readonly replayed: boolean }> => {
    try {
      const outcome = await asked;
      if ('refused' in outcome) return { code: outcome.refused.code, replayed: outcome.replayed };
      const { body } = outcome.answered;
      return { id: isRecord(body) ? body.id : undefined, replayed: outcome.replayed };
    } catch (error) {
      if (error instanceof Refusal) return { code: error.code, replayed: false };
      if (error instanceof InvalidInput) return { code: 'faults', replayed: false };
      throw error;
    }
  };

  const groups = async (of = house): Promise<number> =>
    (await bench.sql`select 1 from groups where organisation_id = ${of.organisation}`).length;
  const kept = async (of = house): Promise<number> =>
    (await bench.sql`select 1 from kept_answers where organisation_id = ${of.organisation}`).length;
  const traces = async (): Promise<number> =>
    (await bench.sql`select 1 from audit_log where organisation_id = ${house.organisation}`).length;

  /** Holds what the statement locks until it is let go. */
  const holding = async (
    lock: (sql: Queryable) => PromiseLike<unknown>,
  ): Promise<() => Promise<void>> => {
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const done = bench.sql.begin(async (transaction) => {
      await lock(transaction);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    return async () => {
      free.resolve();
      await done;
    };
  };
  /** The connection of the other coordinator that waits for a lock. */
  const waiting = (): Promise<number> =>
    eventually(async () => {
      const [row] = await bench.sql<{ pid: number }[]>`select pid from pg_stat_activity
      where datname = current_database() and application_name like '%another%' and wait_event_type = 'Lock'`;
      if (!row) throw new Error('nobody waits yet');
      return row.pid;
    });

  describe('a call that names a key', () => {
    test('is executed once: a repeat gets the same answer and leaves no entry, at every coordinator', async () => {
      const first = await send(createGroup, { name: 'G' });
      expect(first.replayed).toBe(false);
      const before = [await groups(), await traces()];
      for (const at of [bench.gate, other.gate, bench.gate])
        expect(await send(createGroup, { name: 'G' }, { at })).toEqual({
          ...first,
          replayed: true,
        });
      expect([await groups(), await traces()]).toEqual(before);
      expect(before[0]).toBe(1);
      // What the group is called by now is not what the call was answered.
      const body = 'answered' in first && isRecord(first.answered.body) ? first.answered.body : {};
      await bench.call(updateGroup, house.owner, { group_id: body.id, name: 'H' });
      expect(await send(createGroup, { name: 'G' })).toEqual({ ...first, replayed: true });
    });

    test('keeps the status of an answer that has one of its own', async () => {
      await bench.call(createGroup, house.owner, { name: 'G' });
      const first = await send(createGroup, { name: 'G' });
      expect(first).toMatchObject({ answered: { status: 200 } });
      expect(await send(createGroup, { name: 'G' })).toEqual({ ...first, replayed: true });
    });

    test('is refused under the key of another request, and is new after 24 hours', async () => {
      const first = await told(send(createGroup, { name: 'G' }));
      expect(await told(send(createGroup, { name: 'H' }))).toMatchObject({
        code: 'idempotency_key_reused',
      });
      expect(await groups()).toBe(1);
      bench.now += day - 1;
      expect(await told(send(createGroup, { name: 'G' }))).toEqual({ ...first, replayed: true });
      bench.now += 1;
      const next = await told(send(createGroup, { name: 'H' }));
      expect([next.replayed, next.id === first.id]).toEqual([false, false]);
      expect([await told(send(createGroup, { name: 'H' })), await kept()]).toEqual([
        { ...next, replayed: true },
        1,
      ]);
    });

    test('belongs to one token of one organisation', async () => {
      const elsewhere = await createTestOrganisation(bench.sql);
      const ids = [];
      for (const who of [house.owner.caller, house.admin.caller, elsewhere.owner.caller]) {
        const { id, replayed } = await told(send(createGroup, { name: `of ${who.user}` }, { who }));
        ids.push(id);
        expect(replayed).toBe(false);
      }
      expect(new Set(ids).size).toBe(3);
      expect([await kept(), await kept(elsewhere)]).toEqual([2, 1]);
    });

    test('returns nothing to a caller who has lost the permission', async () => {
      await send(createGroup, { name: 'G' });
      expect(
        await told(
          send(createGroup, { name: 'G' }, { who: { ...house.owner.caller, role: 'viewer' } }),
        ),
      ).toMatchObject({
        code: 'role_insufficient',
      });
      expect(
        await told(
          send(createGroup, { name: 'G' }, { who: { ...house.owner.caller, scope: 'read' } }),
        ),
      ).toMatchObject({
        code: 'scope_insufficient',
      });
    });

    test('gets a refusal again, unless a repeat may succeed', async () => {
      const crooked = { type: 'https', target: 'ftp://x', name: 'M' };
      expect(await told(send(createMonitor, crooked))).toEqual({
        code: 'target_invalid',
        replayed: false,
      });
      expect(await told(send(createMonitor, crooked))).toEqual({
        code: 'target_invalid',
        replayed: true,
      });
      expect(await told(send(createGroup, {}, { key: 'b' }))).toEqual({
        code: 'faults',
        replayed: false,
      });
      expect(await told(send(createGroup, { name: 'G' }, { key: 'b' }))).toMatchObject({
        replayed: false,
      });
      expect(
        await told(send(createGroup, { name: 'G' }, { key: 'c', who: house.viewer.caller })),
      ).toMatchObject({
        code: 'role_insufficient',
      });
      expect(await kept()).toBe(2);
    });

    test('has no record without a key', async () => {
      await bench.call(createGroup, house.owner, { name: 'G' });
      expect([await groups(), await kept()]).toEqual([1, 0]);
    });

    test('is executed once when many send it at the same time, to two coordinators', async () => {
      const sent = await Promise.all(
        Array.from({ length: 12 }, (_, nth) =>
          told(
            send(
              createMonitor,
              { type: 'heartbeat', name: 'M' },
              { at: nth % 2 === 0 ? bench.gate : other.gate },
            ),
          ),
        ),
      );
      const done = sent.filter(({ id, replayed }) => id !== undefined && !replayed);
      expect(done).toHaveLength(1);
      for (const each of sent)
        expect(each.id === undefined ? each.code : each.id).toBe(
          each.id === undefined ? 'idempotency_key_in_use' : done[0]?.id,
        );
      expect(
        await bench.sql`select 1 from monitors where organisation_id = ${house.organisation}`,
      ).toHaveLength(1);
      expect(await told(send(createMonitor, { type: 'heartbeat', name: 'M' }))).toEqual({
        id: done[0]?.id,
        replayed: true,
      });
    });
  });

  describe('while it is worked on', () => {
    test('another coordinator says so at once, and has the answer afterwards', async () => {
      const letGo = await holding(
        (sql) => sql`select 1 from organisations where id = ${house.organisation} for update`,
      );
      const first = told(send(createGroup, { name: 'G' }, { at: other.gate }));
      await waiting();
      // The organisation is locked: whoever waited for it would not be answered here.
      expect(await told(send(createGroup, { name: 'G' }))).toEqual({
        code: 'idempotency_key_in_use',
        replayed: false,
      });
      expect(await told(send(createGroup, { name: 'G' }, { at: other.gate }))).toEqual({
        code: 'idempotency_key_in_use',
        replayed: false,
      });
      await letGo();
      const { id } = await first;
      expect(await told(send(createGroup, { name: 'G' }))).toEqual({ id, replayed: true });
      expect(await groups()).toBe(1);
    });

    test('a coordinator that dies before it did anything leaves nothing behind', async () => {
      const letGo = await holding(
        (sql) => sql`select 1 from organisations where id = ${house.organisation} for update`,
      );
      const first = send(createGroup, { name: 'G' }, { at: other.gate });
      const failed = expect(first).rejects.toThrow();
      await bench.sql`select pg_terminate_backend(${await waiting()})`;
      await failed;
      await letGo();
      expect(await told(send(createGroup, { name: 'G' }))).toMatchObject({ replayed: false });
      expect([await groups(), await kept()]).toEqual([1, 1]);
    });

    test('a coordinator that dies after the effect and before the answer is kept takes the effect with it', async () => {
      const letGo = await holding(
        (sql) => sql`lock table kept_answers in share row exclusive mode`,
      );
      const first = send(createGroup, { name: 'G' }, { at: other.gate });
      const failed = expect(first).rejects.toThrow();
      await bench.sql`select pg_terminate_backend(${await waiting()})`;
      await failed;
      expect(await groups()).toBe(0);
      await letGo();
      expect(await told(send(createGroup, { name: 'G' }))).toMatchObject({ replayed: false });
      expect([await groups(), await kept()]).toEqual([1, 1]);
    });
  });

  describe('idempotency records', () => {
    test('hold no secret in clear, and open after each change of keys', async () => {
      const page = await bench.call(createStatusPage, house.owner, { name: 'P', slug: newId() });
      const input = { page_id: page.id };
      const first = await send(renewStatusPageLink, input);
      const link =
        'answered' in first && isRecord(first.answered.body)
          ? String(first.answered.body.link)
          : '';
      const secret = link.split(/[/=]/).at(-1) ?? '';
      expect(secret.length).toBeGreaterThan(20);
      const [row] = await bench.sql<{ call: Buffer; answer: Buffer; text: string }[]>`
      select call, answer, kept_answers::text as text from kept_answers where organisation_id = ${house.organisation}`;
      for (const clear of [secret, 'a key', page.id]) {
        expect(row?.answer.includes(clear)).toBe(false);
        expect(row?.text.includes(Buffer.from(clear).toString('hex'))).toBe(false);
      }
      const again = { ...first, replayed: true };
      expect((await bench.secrets.rotate(bench.sql)).rewritten).toBeGreaterThan(0);
      expect(await send(renewStatusPageLink, input)).toEqual(again);

      const both = another(newSecretKey, testSecretKey);
      expect(await send(renewStatusPageLink, input, { at: both.gate })).toEqual(again);
      await both.secrets.replaceSecretKey(both.sql);
      expect(await send(renewStatusPageLink, input, { at: both.gate })).toEqual(again);
      expect(await send(renewStatusPageLink, input, { at: another(newSecretKey).gate })).toEqual(
        again,
      );
      const back = another(testSecretKey, newSecretKey);
      await back.secrets.replaceSecretKey(back.sql);
      expect(await send(renewStatusPageLink, input, { at: back.gate })).toEqual(again);
    });

    test('hold a batch of 500 with its answer; a larger one is not stored, and still not executed again', async () => {
      const items = (name: string) =>
        Array.from({ length: 500 }, (_, nth) => ({
          type: 'heartbeat',
          name: `${name} ${nth}`,
          external_id: `${name} ${nth}`,
        }));
      const first = await send(batchMonitors, { items: items('M') });
      expect(first).toMatchObject({ answered: { body: { applied: true, created: 500 } } });
      expect(await send(batchMonitors, { items: items('M') })).toEqual({
        ...first,
        replayed: true,
      });
      const large = { items: items('界'.repeat(190)) };
      expect(await send(batchMonitors, large, { key: 'b' })).toMatchObject({
        replayed: false,
        answered: { body: { created: 500 } },
      });
      expect(await told(send(batchMonitors, large, { key: 'b' }))).toEqual({
        code: 'idempotency_answer_too_large',
        replayed: false,
      });
      expect(await told(send(batchMonitors, { items: items('N') }, { key: 'b' }))).toMatchObject({
        code: 'idempotency_key_reused',
      });
      expect(
        await bench.sql`select 1 from monitors where organisation_id = ${house.organisation}`,
      ).toHaveLength(1_000);
    });

    test('go batch by batch when their day is over', async () => {
      await bench.sql`delete from kept_answers`;
      for (const key of ['1', '2', '3', '4']) {
        await send(createGroup, { name: key }, { key });
        bench.now += 1_000;
      }
      const before = bench.now - 2_000;
      expect(await deleteIdempotencyRecords(bench.sql, before, 2)).toBe(true);
      expect(await deleteIdempotencyRecords(bench.sql, before, 2)).toBe(false);
      expect(await kept()).toBe(1);
    });
  });
});

describe('idempotency records', () => {
  const bench = gateBench();

  /** `done`, `replayed`, or the code of the refusal. */
  const send = async (house: TestOrganisation, key: string, name = key): Promise<string> => {
    const named = { key, request: `createGroup ${name}` };
    try {
      const { replayed } = await bench.gate.executeOnce(
        createGroup,
        house.owner.caller,
        rawInput(createGroup, { name }),
        named,
      );
      return replayed ? 'replayed' : 'done';
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };

  test('keep the newest answers of an organisation, up to a sum; of the others only that they were given: nothing is executed twice', async () => {
    const [house, elsewhere] = [
      await createTestOrganisation(bench.sql),
      await createTestOrganisation(bench.sql),
    ];
    await send(elsewhere, 'theirs');
    for (const key of ['1', '2', '3', '4']) {
      bench.now += 1_000;
      expect(await send(house, key)).toBe('done');
    }
    const [row] = await bench.sql<{ bytes: number }[]>`
    select sum(octet_length(answer))::int as bytes from kept_answers where organisation_id = ${house.organisation}`;
    const half = Math.ceil((row?.bytes ?? 0) / 2);
    expect(await shrinkIdempotencyRecords(bench.sql, 2 * half, 1)).toBe(false);
    for (const more of [true, true, false])
      expect(await shrinkIdempotencyRecords(bench.sql, half, 1)).toBe(more);
    const again: string[] = [];
    for (const key of ['1', '2', '3', '4']) again.push(await send(house, key));
    expect(again).toEqual([
      'idempotency_answer_too_large',
      'idempotency_answer_too_large',
      'replayed',
      'replayed',
    ]);
    expect(
      await bench.sql`select 1 from groups where organisation_id = ${house.organisation}`,
    ).toHaveLength(4);
    expect([await send(elsewhere, 'theirs'), await send(house, '1', 'else')]).toEqual([
      'replayed',
      'idempotency_key_reused',
    ]);
  });

  test('the page of the API says how much is kept', () => {
    expect(onceChapter()).toContain(`the newest ${maxRecordsOfOrganisation / 1024 / 1024} MiB`);
  });
});
