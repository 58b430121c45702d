import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Health,
  type HealthInput,
  healthRoutes,
  versions,
} from '../../../coordinator/health/endpoint.ts';
import { createZoneNotice } from '../../../coordinator/health/notices.ts';
import {
  createDatabaseClock,
  createWatchdog,
  type Part,
  readerOf,
} from '../../../coordinator/health/watches.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { createStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemZoneVersion } from '../../../shared/zones/system.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';
import { ownRecordOfTest, startWeb, type TestWeb } from '../../support/web.ts';

describe('endpoint', () => {
  const well: HealthInput = {
    database: true,
    bus: true,
    streams: true,
    partitions: true,
    probes: [{ name: 'Frankfurt', continent: 'Europe', present: true }],
    resting: false,
    circling: false,
    busFault: undefined,
  };

  const here: Omit<Health, 'look'> = {
    versions,
    timeZones: () => ({ version: null, released_on: null, least_age_days: null }),
    isAtWork: () => true,
    isLeaving: () => false,
  };

  test('/health shows the versions, that of the time zones included', async () => {
    const web = Fastify();
    const time_zones = { version: '2026c', released_on: '2026-07-08', least_age_days: 3 };
    healthRoutes(
      web,
      { ...here, look: async () => well, timeZones: () => time_zones },
      () => undefined,
    );
    const { statusCode, payload } = await web.inject({ url: '/health' });
    expect([statusCode, JSON.parse(payload)]).toEqual([
      200,
      expect.objectContaining({ status: 'ok', versions: versions(), time_zones }),
    ]);
    await web.close();
  });

  test.each([
    ['no public probe is there', []],
    ['none is heard', [{ name: 'Frankfurt', continent: 'Europe', present: false }]],
  ])('/health is degraded when %s: nothing is checked', async (_, probes) => {
    const web = Fastify();
    healthRoutes(web, { ...here, look: async () => ({ ...well, probes }) }, () => undefined);
    const { statusCode, payload } = await web.inject({ url: '/health' });
    expect([statusCode, JSON.parse(payload)]).toEqual([
      503,
      expect.objectContaining({ status: 'degraded' }),
    ]);
    await web.close();
  });

  test.each([
    [
      'the database does not answer',
      { database: false },
      'The database does not answer, or is not yet of this version.',
    ],
    ['the bus is away', { bus: false, streams: false }, 'The bus cannot be reached.'],
    [
      'no stream has a leader',
      { streams: false },
      'Streams of the bus have no leader, or what waits in them is not read.',
    ],
    ['a partition has no owner', { partitions: false }, 'Not every partition is worked on.'],
    [
      'the bus must not be used',
      { busFault: 'nats-server 2.11.0 loses messages.' },
      'nats-server 2.11.0 loses messages.',
    ],
  ])(
    '/health says why it is degraded, and /readyz stays 200, when %s: all coordinators share that',
    async (_, differs, why) => {
      const web = Fastify();
      healthRoutes(web, { ...here, look: async () => ({ ...well, ...differs }) }, () => undefined);
      const [health, ready] = await Promise.all([
        web.inject({ url: '/health' }),
        web.inject({ url: '/readyz' }),
      ]);
      expect([health.statusCode, JSON.parse(health.payload)]).toEqual([
        503,
        expect.objectContaining({ status: 'degraded', why: [why] }),
      ]);
      expect([ready.statusCode, JSON.parse(ready.payload)]).toEqual([
        200,
        { status: 'ok', why: [] },
      ]);
      await web.close();
    },
  );

  test.each([
    [
      'is starting',
      { isAtWork: () => false },
      ['This coordinator is starting: it waits for its database, or for the bus.'],
    ],
    ['was told to end', { isLeaving: () => true }, ['This coordinator is shutting down.']],
  ])('/readyz is 503 while this process %s', async (_, differs, why) => {
    const web = Fastify();
    healthRoutes(web, { ...here, ...differs, look: async () => well }, () => undefined);
    const { statusCode, payload } = await web.inject({ url: '/readyz' });
    expect([statusCode, JSON.parse(payload)]).toEqual([503, { status: 'not ready', why }]);
    await web.close();
  });
});

describe('watchdog', () => {
  const log = createLog({ name: 'test', level: 'silent' });

  test('a part that never answers is stalled, one that moves is not, and one that moves again recovers', async () => {
    let answer = Promise.withResolvers<boolean>();
    const parts: Part[] = [
      { name: 'stuck', mayStandMs: 50, moved: () => answer.promise },
      { name: 'moving', mayStandMs: 50, moved: async () => true },
      { name: 'failing', mayStandMs: 50, moved: () => Promise.reject(new Error('no')) },
    ];
    const movement = createWatchdog({ parts: () => parts, log });
    await eventually(async () => {
      await movement.tick();
      return movement.stalled().join() === 'stuck,failing';
    });
    const first = answer;
    answer = Promise.withResolvers<boolean>();
    first.resolve(true);
    await eventually(async () => {
      await movement.tick();
      return movement.stalled().join() === 'failing';
    });
    answer.resolve(true);
  });

  test('a part that is not ours any more is not asked for', async () => {
    let parts: Part[] = [
      { name: 'partition 3', mayStandMs: 1, moved: () => new Promise(() => undefined) },
    ];
    const movement = createWatchdog({ parts: () => parts, log });
    await eventually(async () => {
      await movement.tick();
      return movement.stalled().length === 1;
    });
    parts = [];
    await movement.tick();
    expect(movement.stalled()).toEqual([]);
  });

  test('a reader moves when it advanced or nothing waits for it', async () => {
    let reading: { waiting: number; acknowledged: number } | undefined = {
      waiting: 5,
      acknowledged: 10,
    };
    const moved = readerOf(async () => reading);
    expect(await moved()).toBe(true);
    expect(await moved()).toBe(false);
    reading = { waiting: 9, acknowledged: 11 };
    expect(await moved()).toBe(true);
    reading = { waiting: 0, acknowledged: 11 };
    expect(await moved()).toBe(true);
    reading = undefined;
    expect(await moved()).toBe(false);
  });
});

/**
 * The page about the installation itself is open to whom the operator wants, and only they are led
 * to it.
 */
describe('about page', () => {
  let web: TestWeb;
  let readers: 'everyone' | 'users' | 'nobody';
  beforeAll(async () => {
    web = await startWeb({
      ownRecord: (isSignedIn) =>
        readers === 'everyone' || (readers === 'users' && isSignedIn) ? ownRecordOfTest : undefined,
    });
    await web.sql`update users set is_operator = true where id = ${web.house.owner.user}`;
  });
  afterAll(() => web.close());

  const links = async (path: string, isSignedIn: boolean): Promise<number> => {
    const { text } = await web.get(path, isSignedIn ? { as: 'owner' } : {});
    return [...text.matchAll(/href="\/about"/g)].length;
  };

  test.each([
    ['everyone', [1, 1, 2, 0]],
    ['users', [0, 1, 2, 0]],
    ['nobody', [0, 0, 0, 0]],
  ] as const)(
    'where it is open to %s, every page links to it, and the operator page for operators',
    async (open, expected) => {
      readers = open;
      expect([
        await links('/sign-in', false),
        await links('/', true),
        await links('/operator', true),
        await links('/about', true),
      ]).toEqual(expected);
    },
  );

  test('a status page leads there in its foot, in its language, where it is open to everyone and only there', async () => {
    await web.gate.execute(
      createStatusPage,
      web.house.owner.caller,
      rawInput(createStatusPage, { name: 'Shop', slug: 'shop' }),
    );
    for (const open of ['everyone', 'users', 'nobody'] as const) {
      readers = open;
      for (const [path, words] of [
        ['/status/shop', 'About this monitoring'],
        ['/status/shop/measured?lang=de', 'Über diese Überwachung'],
      ] as const) {
        const text = await web.text(path, 'owner');
        expect([
          open,
          text.includes(`<a href="${web.url}/about">${words}</a>`),
          text.includes('/about'),
        ]).toEqual([open, open === 'everyone', open === 'everyone']);
      }
    }
  });
});

describe('database clock', () => {
  /** A machine's clock that is wrong by so much, and a database that is so far away. */
  const world = (wrongMs: number) => {
    let at = 1_000;
    let wrong = wrongMs;
    const right = () => 1_790_000_000_000 + at;
    const clock = createDatabaseClock({ now: () => right() + wrong }, () => at);
    return {
      clock,
      right,
      pass: (ms: number) => {
        at += ms;
      },
      set: (ms: number) => {
        wrong = ms;
      },
      ask: (tripMs = 20) => {
        const sent = at;
        at += tripMs / 2;
        const theirs = right();
        at += tripMs / 2;
        clock.observe({ sent, received: at, theirs });
      },
    };
  };

  test('a clock that differs by less than 2 s is what it is, and the way of the question is no difference', () => {
    const { clock, right, ask } = world(1_900);
    ask(3_000);
    expect([clock.differenceMs(), clock.now() - right()]).toEqual([undefined, 1_900]);
  });

  test.each([-60_000, 60_000, -2_500, 2_500])(
    'one that differs by %i ms before anything was dated dates by the database at once',
    (wrong) => {
      const { clock, right, ask, pass } = world(wrong);
      ask(500);
      expect([clock.differenceMs(), clock.now() - right()]).toEqual([wrong, 0]);
      pass(10_000);
      expect(clock.now()).toBe(right());
    },
  );

  test('it begins above 2 s and ends below 1 s', () => {
    const { clock, ask, set } = world(1_500);
    ask();
    expect(clock.differenceMs()).toBeUndefined();
    set(2_100);
    ask();
    set(1_500);
    ask();
    expect(clock.differenceMs()).toBe(1_500);
    set(900);
    ask();
    expect(clock.differenceMs()).toBeUndefined();
  });

  test('time never runs back: what is ahead goes at half its pace until the right time is there', () => {
    const { clock, right, ask, pass, set } = world(0);
    ask();
    set(10_000);
    const jumped = clock.now();
    expect(jumped - right()).toBe(10_000);
    ask(0);
    let before = jumped;
    for (let step = 0; step < 2_000; step += 1) {
      pass(7);
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
    expect(before - right()).toBeGreaterThan(2_500);
    pass(7_000);
    expect(clock.now()).toBe(right());
    // A machine's clock that is set back, before anybody has asked.
    const other = world(0);
    other.ask();
    const first = other.clock.now();
    other.set(-3_600_000);
    other.pass(1_000);
    expect(other.clock.now()).toBe(first + 500);
    other.ask();
    expect(other.clock.now()).toBe(other.right());
  });
});

describe('zone notice', async () => {
  const { sql } = await ownDatabase();

  test('a notice comes when the time zones are over 120 days old, once, and goes when a coordinator has newer ones', async () => {
    const owner = newId();
    let now = Date.parse('2026-11-01T00:00:00Z');
    let system: string | null = null;
    const of = (version: string) =>
      createZoneNotice({
        sql,
        owner,
        clock: { now: () => now },
        version,
        systemVersion: async () => system,
        isLeader: () => false,
      });
    const notices = () => sql<{ message: string; over: boolean }[]>`
    select message, ended_at is not null as over from notices where kind = 'time_zones_old' order by id`;
    const old = of('2026c');
    await old.tick();
    expect(await notices()).toEqual([]);
    now = Date.parse('2026-11-20T00:00:00Z');
    await old.tick();
    now += 86_400_000;
    await old.tick();
    const message = expect.stringMatching(
      /^The time zones of the coordinator on \S+ are of version 2026c of 2026-07-08, over 120 days old; clocks may have/,
    );
    expect(await notices()).toEqual([{ message, over: false }]);
    // Its clock was wrong, and is set.
    now = Date.parse('2026-10-01T00:00:00Z');
    await old.tick();
    expect(await notices()).toEqual([{ message, over: true }]);
    // This machine was updated, and Node was not.
    system = '2026f';
    await old.tick();
    expect(await notices()).toMatchObject([
      { over: true },
      { message: expect.stringContaining('2026c of 2026-07-08, and this machine has 2026f;') },
    ]);
    system = '2026c';
    await old.tick();
    expect((await notices()).map(({ over }) => over)).toEqual([true, true]);
  });

  test('the version of the time zones of a machine is read from where it keeps them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-zones-'));
    expect(await systemZoneVersion(folder)).toBeNull();
    await writeFile(join(folder, 'tzdata.zi'), '# version 2026f\n# This zic input file');
    expect(await systemZoneVersion(folder)).toBe('2026f');
    await writeFile(join(folder, 'tzdata.zi'), '# version unknown');
    expect(await systemZoneVersion(folder)).toBeNull();
    await rm(folder, { recursive: true });
  });
});
