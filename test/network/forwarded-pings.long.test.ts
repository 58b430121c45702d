import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { retrySetAside, setAside } from '../../coordinator/engine/queries.ts';
import { newId } from '../../shared/base/crypto.ts';
import { parseProbeCredentials, signatureOf } from '../../shared/bus/identity.ts';
import type { PingMessage } from '../../shared/bus/messages.ts';
import { createKey, type Key, keyFromSeed, parseCredentials } from '../../shared/bus/nkeys.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import type { TcpProxy } from '../support/connections.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  type Heartbeat,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  ping,
  pingsWritten,
} from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { createTestOrganisation } from '../support/people.ts';
import { speakAs } from '../support/probes.ts';
import { mayBusStandStill } from '../support/services.ts';

/**
 * What anybody may say at the address where cut-off ping receivers bring their pings: what is not
 * theirs is refused, counted, and changes nothing.
 */
describe('forwarded pings', () => {
  let network: Network;
  let relay: TcpProxy;
  let url: string;
  let europe: MadeProbe;

  beforeAll(async () => {
    network = await createNetwork({ relayed: {} });
    relay = network.relay;
    url = (await network.startCoordinator()).url;
    europe = await network.makeProbe('Europe', 'europe');
  });
  afterAll(() => network.close());

  const keyOf = ({ credentials }: MadeProbe): Key =>
    keyFromSeed(parseCredentials(parseProbeCredentials(credentials).nats_credentials).seed, 'user');

  const pingOf = (
    { key }: Pick<Heartbeat, 'key'>,
    more: Partial<PingMessage> = {},
  ): PingMessage => ({
    v: 1,
    id: newId(),
    key,
    kind: 'success',
    exit_code: null,
    at: Date.now() - 5_000,
    rid: null,
    method: 'GET',
    body: '',
    ear: 'europe',
    ...more,
  });

  const bodyOf = (probe: string, pings: readonly unknown[], more: object = {}): string =>
    JSON.stringify({ v: 1, probe, sent_at: Date.now(), beats: pings, ...more });

  type Answer = { readonly status: number; readonly text: string };

  const send = async (
    probe: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> => {
    const answer = await fetch(`${url}/beat/kept/${probe}`, { method: 'POST', body, headers });
    return { status: answer.status, text: await answer.text() };
  };

  const signed = (key: Key, body: string): Record<string, string> => ({
    'antipode-signature': signatureOf(key, Buffer.from(body)).Signature ?? '',
  });

  /** As a ping receiver sends it. */
  const bring = (
    made: MadeProbe,
    pings: readonly unknown[],
    more: object = {},
  ): Promise<Answer> => {
    const body = bodyOf(made.id, pings, more);
    return send(made.id, body, signed(keyOf(made), body));
  };

  const refused = async (probe: string, reason: string): Promise<number> => {
    const [row] = await network.sql<
      { count: number }[]
    >`select count from refused where probe = ${probe} and reason = ${reason}`;
    return row?.count ?? 0;
  };

  const becomesRefused = async (probe: string, reason: string, times = 1): Promise<void> => {
    const isRefused = await eventually(
      async () => (await refused(probe, reason)) >= times,
      10_000,
    ).catch(() => false);
    expect(isRefused, `refused as ${reason}`).toBe(true);
  };

  /** At the first try; where a bus may stand still, as often as a ping receiver tries. */
  const isSoon = (ask: () => Promise<boolean>): Promise<boolean> =>
    mayBusStandStill() ? eventually(ask, 60_000, 500) : ask();

  /** The pings that are done for. */
  const doneOf = async (made: MadeProbe, pings: readonly PingMessage[]): Promise<Set<string>> => {
    const done = new Set<string>();
    const left = (): PingMessage[] => pings.filter(({ id }) => !done.has(id));
    await isSoon(async () => {
      const { status, text } = await bring(made, left());
      if (mayBusStandStill() && status === 503) return false;
      expect(status, text).toBe(200);
      for (const id of JSON.parse(text).done) done.add(id);
      return left().length === 0;
    });
    return done;
  };

  test('stay where they are while the coordinator has no bus either', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const kept = pingOf(heartbeat);
    relay.cut();
    const answer = await eventually(async () => {
      const tried = await bring(europe, [kept]);
      return tried.status === 503 ? tried : undefined;
    }).finally(relay.heal);
    expect(answer.status).toBe(503);
    await eventually(async () => (await bring(europe, [kept])).status === 200);
    expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toHaveLength(1);
  });

  test('are on the bus before the answer, with the probe that we identified and a key that we know', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const pings = [
      pingOf(heartbeat, { ear: 'somebody else', body: 'kept' }),
      pingOf(heartbeat, { kind: 'start', at: Date.now() }),
    ];
    expect(await doneOf(europe, pings)).toEqual(new Set(pings.map(({ id }) => id)));
    const written = await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(written).toMatchObject([
      { kind: 'success', body: 'kept', ear: 'europe' },
      { kind: 'start', ear: 'europe' },
    ]);
    expect(written.map(({ at }) => Number(at))).toEqual(pings.map(({ at }) => at));
  });

  test('that come twice, and over the bus as well, are one row and have one effect', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const at = Date.now();
    const [bad, good] = [
      pingOf(heartbeat, { kind: 'fail', at }),
      pingOf(heartbeat, { at: at + 1 }),
    ];
    expect(await doneOf(europe, [bad])).toEqual(new Set([bad.id]));
    await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
    expect(await doneOf(europe, [good])).toEqual(new Set([good.id]));
    const over = await incidentThat(network.sql, heartbeat.monitor, isResolved);
    for (const pings of [[bad], [bad, good], [good, bad, bad]]) await doneOf(europe, pings);
    const voice = await speakAs(europe);
    for (const ping of [bad, good])
      await eventually(() =>
        voice.bus.store(
          subjects.ping('Europe', partitionOf(heartbeat.monitor), heartbeat.key),
          JSON.stringify(ping),
        ),
      );
    await voice.close();
    // One more that comes behind all these has been worked on: so have they.
    const last = pingOf(heartbeat, { kind: 'log', at: at + 2 });
    await doneOf(europe, [last]);
    expect((await pingsWritten(network.sql, heartbeat.monitor, 3)).map(({ kind }) => kind)).toEqual(
      ['fail', 'success', 'log'],
    );
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([over]);
  });

  test('are refused without the signature of the probe, or with one of something else', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const body = bodyOf(europe.id, [pingOf(heartbeat)]);
    const right = signed(keyOf(europe), body);
    const before = await refused(europe.id, 'not_signed');
    const answers = [
      await send(europe.id, body, {}),
      await send(europe.id, body, signed(createKey('user'), body)),
      await send(europe.id, body, { 'antipode-signature': 'rubbish' }),
      await send(europe.id, body.replace('"success"', '"fail"'), right),
      await send(europe.id, `${body} `, right),
    ];
    expect(answers).toEqual(answers.map(() => ({ status: 401, text: 'Refused: not_signed' })));
    await becomesRefused(europe.id, 'not_signed', before + answers.length);
    expect(await isSoon(async () => (await send(europe.id, body, right)).status === 200)).toBe(
      true,
    );
    expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toHaveLength(1);
  });

  test('are refused of a probe that does not exist, was revoked, or is another', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const [gone, other] = [await network.makeProbe('Asia'), await network.makeProbe('Asia')];
    await network.revokeProbe(gone.id);
    for (const stranger of [newId(), 'x'.repeat(500), '..%2f..', "'; drop table beats; --"]) {
      const body = bodyOf(europe.id, [pingOf(heartbeat)]);
      const answer = await send(encodeURIComponent(stranger), body, signed(keyOf(europe), body));
      expect(answer, stranger).toEqual({ status: 401, text: 'Refused: unknown_probe' });
    }
    await becomesRefused('unknown', 'unknown_probe', 4);
    expect(await bring(gone, [pingOf(heartbeat)])).toEqual({
      status: 403,
      text: 'Refused: revoked_probe',
    });
    await becomesRefused(gone.id, 'revoked_probe');
    const body = bodyOf(europe.id, [pingOf(heartbeat)]);
    expect((await send(other.id, body, signed(keyOf(europe), body))).status).toBe(401);
    expect(await send(other.id, body, signed(keyOf(other), body))).toEqual({
      status: 403,
      text: 'Refused: wrong_subject',
    });
    await becomesRefused(other.id, 'wrong_subject');
    expect(await network.sql`select 1 from beats where monitor_id = ${heartbeat.monitor}`).toEqual(
      [],
    );
  });

  test('that cannot be read, are too many, too large, of another version or of another time are refused as a whole', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const one = pingOf(heartbeat);
    const raw = async (body: string) => send(europe.id, body, signed(keyOf(europe), body));
    const malformed = [
      await raw('{"v":1'),
      await raw(''),
      await raw('[]'),
      await bring(europe, []),
      await bring(europe, [one, 'rubbish']),
      await bring(europe, [{ ...one, at: -1 }]),
      await bring(europe, [{ ...one, key: `${one.key}.>` }]),
      await bring(europe, [{ ...one, body: 'x'.repeat(20_000) }]),
      await bring(
        europe,
        Array.from({ length: 501 }, () => pingOf(heartbeat)),
      ),
      // Signed by the same key for another purpose.
      await raw(
        JSON.stringify({
          v: 1,
          probe: europe.id,
          generation: newId(),
          partition: 0,
          after: null,
          results: [],
        }),
      ),
    ];
    expect(malformed).toEqual(malformed.map(() => ({ status: 400, text: 'Refused: malformed' })));
    await becomesRefused(europe.id, 'malformed', malformed.length);
    expect(await bring(europe, [one], { v: 2 })).toEqual({
      status: 400,
      text: 'Refused: unknown_version',
    });
    for (const off of [-180_000, 180_000, 86_400_000])
      expect(await bring(europe, [one], { sent_at: Date.now() + off })).toEqual({
        status: 409,
        text: 'Refused: wrong_time',
      });
    const large = await bring(europe, [{ ...one, more: 'x'.repeat(600_000) }]);
    expect(large).toEqual({ status: 413, text: 'Refused: oversized' });
    for (const reason of ['unknown_version', 'wrong_time', 'oversized'])
      await becomesRefused(europe.id, reason);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await fetch(`${url}/beat/kept/${europe.id}`, { method })).status).not.toBe(200);
    expect(await network.sql`select 1 from beats where monitor_id = ${heartbeat.monitor}`).toEqual(
      [],
    );
  });

  test('of a private probe count for its own organisation only, and unknown keys for none; it need not keep them', async () => {
    const house = await createTestOrganisation(network.sql);
    const own = await network.makeProbe('Asia', 'own', network.organisation);
    const foreign = await network.makeProbe('Asia', 'foreign', house.organisation);
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const theirs = pingOf(heartbeat, { kind: 'fail' });
    expect(await doneOf(foreign, [theirs])).toEqual(new Set([theirs.id]));
    const made = pingOf({ key: 'a'.repeat(64) });
    const ours = pingOf(heartbeat);
    expect(await doneOf(own, [made, ours])).toEqual(new Set([made.id, ours.id]));
    for (const { id } of [own, foreign]) await becomesRefused(id, 'not_its_monitor');
    expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toMatchObject([
      { kind: 'success', ear: 'own' },
    ]);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
  });

  test('are accepted of a probe with new credentials, and for a day with the older ones', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const before = await network.makeProbe('Oceania');
    const after = await network.rotateProbe(before);
    for (const made of [before, after])
      expect(await doneOf(made, [pingOf(heartbeat)])).toHaveProperty('size', 1);
    await network.sql`update probes set keys = (select jsonb_agg(k || '{"until": 1}') from jsonb_array_elements(keys) k where k ->> 'until' is not null)
      || (select jsonb_agg(k) from jsonb_array_elements(keys) k where k ->> 'until' is null) where id = ${before.id}`;
    await eventually(async () => (await bring(before, [pingOf(heartbeat)])).status === 401);
    expect(await doneOf(after, [pingOf(heartbeat)])).toHaveProperty('size', 1);
    expect((await pingsWritten(network.sql, heartbeat.monitor, 3)).length).toBeGreaterThanOrEqual(
      3,
    );
  });

  test('dated by a clock that is a day ahead count as of when they came', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await doneOf(europe, [pingOf(heartbeat, { at: Date.now() + 86_400_000 })]);
    const [written] = await pingsWritten(network.sql, heartbeat.monitor, 1);
    expect(Math.abs(Number(written?.at) - Date.now())).toBeLessThan(60_000);
  });
});

/**
 * Pings that could not be worked on and lie aside: the operator has them worked on again, and they
 * come out as if they had only been late.
 */
describe('pings that were set aside', () => {
  let network: Network;
  let relay: TcpProxy;
  let address: string;

  beforeEach(async () => {
    network = await createNetwork({ relayed: {} });
    relay = network.relay;
    address = (await network.startCoordinator()).url;
  });
  afterEach(() => network.close());

  /** As the coordinator puts aside what it took from the bus. */
  const putAside = async ({ monitor, key }: Heartbeat, at: number): Promise<void> => {
    const message: PingMessage = {
      v: 1,
      id: newId(),
      key,
      kind: 'success',
      exit_code: null,
      at,
      rid: null,
      method: 'POST',
      body: 'kept',
      ear: 'europe',
    };
    const subject = subjects.ping('Europe', partitionOf(monitor), key);
    await setAside(network.sql, {
      subject,
      reason: 'the disk was full',
      data: Buffer.from(JSON.stringify(message)),
    });
  };
  const retry = (): Promise<number[]> =>
    network.sql.begin((transaction) => retrySetAside(transaction, null));
  const untilTaken = () =>
    eventually(async () => (await network.sql`select 1 from set_aside`).length === 0);

  test('a ping that the database refuses holds up none that came with it', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await network.sql`alter table beats add constraint no_failure check (kind <> 'fail')`;
    // Both wait on the bus and are taken together.
    await network.sql.begin(async (lock) => {
      await lock`lock table beats`;
      await ping(address, heartbeat);
      await eventually(
        async () =>
          (
            await network.sql`select 1 from pg_locks where not granted and relation = 'beats'::regclass`
          ).length > 0,
      );
      await ping(address, heartbeat, '/fail');
      await ping(address, heartbeat);
    });
    await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(await network.sql`select 1 from set_aside`).toHaveLength(0);
    await eventually(async () => (await network.sql`select 1 from set_aside`).length === 1, 20_000);
  });

  test('a ping that is retried is written once, with its original time, and closes what had opened before it', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(address, heartbeat, '/fail');
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
    const at = Number(down.started_at) + 1;
    await putAside(heartbeat, at);
    // Asked for twice in the same moment, as by two operators.
    const asked = await Promise.all([retry(), retry()]);
    expect(asked.flat()).toHaveLength(1);
    await untilTaken();
    const closed = await incidentThat(network.sql, heartbeat.monitor, isResolved);
    expect([closed.id, Number(closed.resolved_at)]).toEqual([down.id, at]);
    // One more tells that nothing else was on its way.
    await ping(address, heartbeat);
    const written = await pingsWritten(network.sql, heartbeat.monitor, 3);
    expect(written.map(({ kind, body }) => [kind, body])).toEqual([
      ['fail', ''],
      ['success', 'kept'],
      ['success', ''],
    ]);
    expect(Number(written[1]?.at)).toBe(at);
  });

  test('a ping that is retried while the bus is away stays aside, and is taken when the bus is back', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(address, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    relay.cut();
    const at = Date.now();
    await putAside(heartbeat, at);
    expect(await retry()).toHaveLength(1);
    // The coordinator looks at what it is asked for at once, and again each second.
    await passed(2_500);
    expect(
      (await network.sql`select 1 from set_aside where retry_asked_at is not null`).length,
    ).toBe(1);
    relay.heal();
    await untilTaken();
    const written = await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(written.map((row) => Number(row.at))).toContain(at);
    expect(written).toHaveLength(2);
  });

  test('an invalid ping is refused again', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const subject = subjects.ping('Europe', partitionOf(heartbeat.monitor), heartbeat.key);
    await setAside(network.sql, { subject, reason: 'unreadable', data: Buffer.from('{"v":1') });
    await retry();
    await untilTaken();
    await eventually(
      async () => (await network.sql`select 1 from refused where reason = 'malformed'`).length > 0,
    );
    await ping(address, heartbeat);
    expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toHaveLength(1);
  });
});
