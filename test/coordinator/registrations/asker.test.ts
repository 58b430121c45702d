import { describe, expect, test } from 'vitest';
import { migrate } from '../../../coordinator/database/migrate.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { createAsker } from '../../../coordinator/registrations/asker.ts';
import {
  createRefreshedList,
  createRegistryList,
} from '../../../coordinator/registrations/list.ts';
import { serverOf } from '../../../coordinator/registrations/model.ts';
import { readRegistries } from '../../../coordinator/registrations/queries.ts';
import { createLog } from '../../../shared/base/log.ts';
import { registrationShape } from '../../../shared/checks/domain/registration.ts';
import { ownDatabase } from '../../support/services.ts';

const hour = 3_600_000;
const log = createLog({ name: 'test', level: 'silent' });

type Answer = { readonly status: number; readonly body: unknown; readonly retry?: string };

describe('the asker of registries', async () => {
  const { sql } = await ownDatabase();
  const { sql: only } = await ownDatabase({ name: 'only', connections: 1 });
  let serial = 0;

  /** A registry of one domain, which answers what it is told, and counts. */
  const begin = () => {
    serial += 1;
    const domain = `example${serial}.com`;
    let now = Date.parse('2026-11-25T12:00:00Z');
    const asked: string[] = [];
    let answer: () => Answer | Promise<Answer> = () => registered();
    const registered = (more: object = {}): Answer => ({
      status: 200,
      body: {
        objectClassName: 'domain',
        ldhName: domain,
        events: [{ eventAction: 'expiration', eventDate: '2027-08-13T04:00:00Z' }],
        ...more,
      },
    });
    const clock = { now: () => now };
    const read = async (url: string) => {
      asked.push(url);
      const { status, body, retry } = await answer();
      return {
        status,
        headers: retry === undefined ? {} : { 'retry-after': retry },
        body: Buffer.from(JSON.stringify(body)),
      };
    };
    const start = (on = sql) =>
      createAsker({
        sql: on,
        clock,
        log,
        read,
        registries: createRefreshedList({ sql, clock, log, read, listUrl: undefined }),
        againMs: 0,
      });
    return {
      domain,
      asked,
      start,
      registered,
      answers: (next: typeof answer) => {
        answer = next;
      },
      later: (ms: number) => {
        now += ms;
      },
    };
  };

  const onHold = { status: ['client hold'] };
  const missing: Answer = { status: 404, body: { errorCode: 404 } };

  test('asks once a day, for all that want a domain, and after a restart too', async () => {
    const { domain, asked, start, later } = begin();
    const asker = start();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => asker.ask(domain, `${nth}`)),
    );
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(asked).toEqual([`https://rdap.verisign.com/com/v1/domain/${domain}`]);
    later(20 * hour);
    expect(await start().ask(domain, 'a')).toEqual(all[0]);
    expect(asked).toHaveLength(1);
    later(4 * hour);
    expect(await start().ask(domain, 'a')).toMatchObject({ is: 'registered' });
    expect(asked).toHaveLength(2);
  });

  test('asks once also for a caller who looked before the answer was kept', async () => {
    const { domain, asked, start } = begin();
    const held = Promise.withResolvers<void>();
    let looks = 0;
    const asker = start(
      new Proxy(sql, {
        apply: async (target, self, words) => {
          const rows = await Reflect.apply(target, self, words);
          looks += 1;
          // The first to look hears of it only after the second has its answer.
          if (looks === 1) await held.promise;
          return rows;
        },
      }),
    );
    const first = asker.ask(domain, 'a');
    await expect.poll(() => looks).toBe(1);
    const second = await asker.ask(domain, 'a');
    held.resolve();
    expect(await first).toEqual(second);
    expect(asked).toHaveLength(1);
  });

  test('believes a bad answer only when the registry gives it twice, and asks again soon', async () => {
    const { domain, asked, start, answers, registered, later } = begin();
    answers(() => (asked.length === 1 ? missing : registered()));
    expect(await start().ask(domain, 'a')).toMatchObject({ is: 'unknown' });
    expect(asked).toHaveLength(2);
    answers(() => registered(onHold));
    const asker = start();
    expect(await asker.ask(domain, 'a')).toMatchObject({ statuses: ['client hold'] });
    expect(asked).toHaveLength(4);
    await asker.ask(domain, 'a');
    expect(asked).toHaveLength(4);
    answers(() => registered());
    later(hour);
    expect(await asker.ask(domain, 'a')).toMatchObject({ statuses: [] });
  });

  test('keeps to the last answer for three days while the registry gives none', async () => {
    const { domain, asked, start, answers, later } = begin();
    const asker = start();
    const first = await asker.ask(domain, 'a');
    answers(() => Promise.reject(new Error(`connect ECONNREFUSED ${'x'.repeat(500)}`)));
    later(25 * hour);
    expect(await asker.ask(domain, 'a')).toEqual(first);
    const before = asked.length;
    expect(await asker.ask(domain, 'a')).toEqual(first);
    expect(asked).toHaveLength(before);
    later(60 * hour);
    const unknown = await asker.ask(domain, 'a');
    expect(unknown.is).toBe('unknown');
    expect(registrationShape.safeParse(unknown).success).toBe(true);
  });

  test('leaves a registry alone for as long as it asks for', async () => {
    const { domain, asked, start, answers, registered, later } = begin();
    const asker = start();
    answers(() => ({ status: 429, body: {}, retry: '7200' }));
    expect(await asker.ask(domain, 'a')).toMatchObject({ is: 'unknown' });
    answers(() => registered());
    later(hour);
    expect(await asker.ask(`other-${domain}`, 'a')).toMatchObject({ is: 'unknown' });
    expect(asked).toHaveLength(1);
    later(hour);
    expect(await asker.ask(domain, 'a')).toMatchObject({ is: 'registered' });
  });

  test('asks one registry one question at a time', async () => {
    const { domain, start, answers } = begin();
    let together = 0;
    let most = 0;
    answers(async () => {
      together += 1;
      most = Math.max(most, together);
      await new Promise(setImmediate);
      together -= 1;
      return { status: 500, body: {} };
    });
    const asker = start();
    await Promise.all(Array.from({ length: 10 }, (_, nth) => asker.ask(`${nth}-${domain}`, 'a')));
    expect(most).toBe(1);
  });

  test('asks for no more than 120 domains a minute for one private probe, and for no other names', async () => {
    const { domain, asked, start, answers, later } = begin();
    answers(() => missing);
    const asker = start();
    const ask = async (count: number, by: string | null) => {
      for (let nth = 0; nth < count; nth += 1) await asker.ask(`${by}${nth}-${domain}`, by);
    };
    await ask(121, 'a');
    expect(asked).toHaveLength(240);
    await ask(1, 'b');
    expect(asked).toHaveLength(242);
    later(60_000);
    await ask(1, 'c');
    expect(asked).toHaveLength(244);
    await ask(130, null);
    expect(asked).toHaveLength(504);
    for (const odd of ['../../x.com', 'EXAMPLE.com', 'com', 'exam ple.com', ''])
      expect(await asker.ask(odd, 'd')).toMatchObject({ is: 'unknown' });
    expect(asked).toHaveLength(504);
  });

  test('leaves the list to the connection of whoever asks, which may be the last one', async () => {
    await migrate(only);
    const list = createRegistryList({ now: () => 0 });
    const known = await inTransaction(only, (transaction) => list.current(transaction));
    expect(serverOf(known, 'example.com')).toBe('https://rdap.verisign.com/com/v1/');
  });

  test('reads the list of registries again once a week, and keeps the known one meanwhile', async () => {
    let now = Date.parse('2126-11-25T12:00:00Z');
    let isThere = false;
    const asked: string[] = [];
    const clock = { now: () => now };
    const body = {
      publication: '2126-11-01T00:00:00Z',
      services: [[['com'], ['https://new.example/']]],
    };
    const read = async (url: string) => {
      asked.push(url);
      return {
        status: isThere ? 200 : 503,
        headers: {},
        body: Buffer.from(JSON.stringify(body)),
      };
    };
    const listUrl = 'https://list.example/dns.json';
    const list = createRefreshedList({ sql, clock, log, read, listUrl });
    const server = async () => serverOf(await list.current(sql), 'example.com');
    expect(await server()).toBe('https://rdap.verisign.com/com/v1/');
    await server();
    expect(asked).toEqual([listUrl]);
    isThere = true;
    now += 25 * hour;
    await server();
    await expect.poll(() => readRegistries(sql)).toMatchObject({ list: body });
    now += hour;
    expect(await server()).toBe('https://new.example/');
    now += 6 * 24 * hour;
    await server();
    expect(asked).toHaveLength(2);
    await sql`delete from registries`;
  });
});
