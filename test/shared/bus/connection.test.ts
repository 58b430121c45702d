import { errors } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { createDialLog, createRefusals, type DialLog } from '../../../shared/bus/dialling.ts';
import { parseProbeCredentials, printProbeCredentials } from '../../../shared/bus/identity.ts';
import { isSafeServer, isWithinMachine, serverFault } from '../../../shared/bus/jetstream.ts';
import { type Bus, type BusStatus, connectBus, type Delivered } from '../../../shared/bus/nats.ts';
import { createKey, issueCredentials } from '../../../shared/bus/nkeys.ts';
import { partitionConsumer, streams } from '../../../shared/bus/subjects.ts';
import { createBusOfProbe } from '../../probe/support/surroundings.ts';
import { createTcpProxy } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { createAccount } from '../../support/services.ts';

describe('the bus', () => {
  const log = pino({ level: 'silent' });
  let bus: Bus;

  beforeAll(async () => {
    const account = await createAccount();
    bus = await connectBus({
      url: account.url,
      credentials: account.coordinatorCredentials,
      name: 'test',
      log,
    });
    await bus.ensureStream(streams.results);
    await bus.ensureStream(streams.assignments);
  });
  afterAll(() => bus.close());

  const text = (data: Uint8Array) => new TextDecoder().decode(data);

  /** Collects what a pull delivers and resolves when it holds so many. */
  const collect = (count: number) => {
    const got: Delivered[] = [];
    const { promise, resolve } = Promise.withResolvers<Delivered[]>();
    return {
      all: promise,
      take: (messages: readonly Delivered[]) => {
        got.push(...messages);
        if (got.length >= count) resolve(got);
      },
    };
  };

  test('answers a request of another connection, with headers', async () => {
    const listening = bus.subscribe(
      'question',
      (message) => void message.respond(`${text(message.data)}! ${message.header('Mood')}`),
    );
    expect(text((await bus.request('question', 'hello', { headers: { Mood: 'fine' } })).data)).toBe(
      'hello! fine',
    );
    listening.stop();
    await expect(bus.request('question', 'anyone?')).rejects.toThrow();
  });

  test('closes cleanly although the server goes away while it sends its queue', async ({
    onTestFinished,
  }) => {
    const account = await createAccount();
    const proxy = await createTcpProxy(account.url);
    onTestFinished(proxy.close);
    const leaving = await connectBus({
      url: proxy.url,
      credentials: account.coordinatorCredentials,
      name: 'leaving',
      log,
    });
    leaving.subscribe('question', () => undefined);
    await leaving.flush();
    const said: BusStatus[] = [];
    leaving.onStatus((status) => said.push(status));
    proxy.delay(60_000);
    const closing = leaving.close();
    proxy.reset();
    await expect(closing).resolves.toBeUndefined();
    await eventually(() => said.at(-1) === 'closed');
  });

  test('is dialled anew when the server is silent, and serves again', async ({
    onTestFinished,
  }) => {
    const account = await createAccount();
    const proxy = await createTcpProxy(account.url);
    onTestFinished(proxy.close);
    const patient = await connectBus({
      url: proxy.url,
      credentials: account.coordinatorCredentials,
      name: 'patient',
      log,
    });
    onTestFinished(patient.close);
    const said: BusStatus[] = [];
    patient.onStatus((status) => said.push(status));
    proxy.freeze();
    await eventually(() => said.includes('disconnected'));
    await eventually(() => said.at(-1) === 'connected');
    await patient.flush();
  });

  test('that is about to close waits at most a second for answers, of earlier or later requests', async ({
    onTestFinished,
  }) => {
    const account = await createAccount();
    const leaving = await connectBus({
      url: account.url,
      credentials: account.coordinatorCredentials,
      name: 'leaving',
      log,
    });
    onTestFinished(leaving.close);
    let heard = 0;
    for (const subject of ['silent', 'silent.stream'])
      leaving.subscribe(subject, () => {
        heard += 1;
      });
    const hour = { timeoutMs: 3_600_000 };
    const ask = () =>
      Promise.allSettled([
        leaving.request('silent', '', hour),
        leaving.store('silent.stream', '', hour),
      ]);
    const before = ask();
    await eventually(() => heard === 2);
    leaving.hurry();
    const answers = [...(await before), ...(await ask())];
    expect(answers.map((answer) => answer.status === 'rejected' && String(answer.reason))).toEqual([
      'Error: stopped before the bus answered',
      'Error: stopped before the bus acknowledged silent.stream',
      'TimeoutError: timeout',
      'Error: the bus did not acknowledge silent.stream in time',
    ]);
  });

  test('keeps the last value of a subject, and drops a purged one', async () => {
    await bus.store('assign.europe.m1', 'old');
    await bus.store('assign.europe.m1', 'new');
    expect(text((await bus.last('ASSIGN', 'assign.europe.m1'))?.data ?? new Uint8Array())).toBe(
      'new',
    );
    expect(await bus.subjectsOf('ASSIGN', 'assign.>')).toEqual(['assign.europe.m1']);
    await bus.purge('ASSIGN', 'assign.europe.m1');
    expect(await bus.last('ASSIGN', 'assign.europe.m1')).toBeUndefined();
  });

  test('refuses to store what no stream takes, and says a repeat is a duplicate', async () => {
    await expect(bus.store('nowhere', 'x', { timeoutMs: 500 })).rejects.toThrow();
    expect((await bus.store('result.asia.9.p', 'x', { id: 'a' })).duplicate).toBe(false);
    expect((await bus.store('result.asia.9.p', 'x', { id: 'a' })).duplicate).toBe(true);
  });

  test('many at once each get their number', async () => {
    const before = (await bus.store('assign.asia.first', 'x')).seq;
    const stored = await Promise.all(
      Array.from({ length: 300 }, (_, n) => bus.store(`assign.asia.m${n}`, 'x')),
    );
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, n) => before + 1 + n));
  });

  test('a store without permission fails at once, and does not wait for an answer', async () => {
    const other = await createBusOfProbe();
    const probe = await other.connect();
    await expect(probe.store('assign.europe.m1', 'mine', { timeoutMs: 60_000 })).rejects.toThrow(
      /permission/i,
    );
    await other.close();
  });

  test('a pull delivers in order what was there and what comes, and acknowledged messages leave the queue', async () => {
    await bus.ensureConsumer('RESULTS', partitionConsumer(1));
    for (const n of [1, 2, 3]) await bus.store('result.europe.1.p', `${n}`);
    const { all, take } = collect(5);
    const pull = bus.pull({
      stream: 'RESULTS',
      consumer: 'partition-1',
      batch: 2,
      onMessages: async (messages) => {
        for (const message of messages) message.ack();
        take(messages);
      },
    });
    for (const n of [4, 5]) await bus.store('result.europe.1.p', `${n}`);
    expect((await all).map((message) => text(message.data))).toEqual(['1', '2', '3', '4', '5']);
    await pull.stop();
    await expect
      .poll(() => bus.consumerState('RESULTS', 'partition-1'))
      .toMatchObject({ pending: 0, unacknowledged: 0 });
  });

  test('messages of a failed handler come again', async () => {
    await bus.ensureConsumer('RESULTS', { ...partitionConsumer(2), ackWaitMs: 200 });
    const { all, take } = collect(1);
    let failures = 0;
    const pull = bus.pull({
      stream: 'RESULTS',
      consumer: 'partition-2',
      batch: 10,
      onMessages: async (messages) => {
        if (failures === 0) {
          failures += 1;
          throw new Error('the first time it fails');
        }
        for (const message of messages) message.ack();
        take(messages);
      },
    });
    await bus.store('result.europe.2.p', 'again');
    const [first] = await all;
    expect([first && text(first.data), first?.deliveries]).toEqual(['again', 2]);
    await pull.stop();
  });

  test('a pull whose consumer is missing asks for it, and goes on when it is renewed by another', async () => {
    const { all, take } = collect(2);
    let made = 0;
    const pull = bus.pull({
      stream: 'RESULTS',
      consumer: 'partition-3',
      batch: 10,
      onMissing: async () => {
        made += 1;
        await bus.ensureConsumer('RESULTS', partitionConsumer(3));
      },
      onMessages: async (messages) => {
        for (const message of messages) message.ack();
        take(messages);
      },
    });
    await bus.store('result.europe.3.p', 'one');
    await expect.poll(() => made, { timeout: 30_000 }).toBe(1);
    await bus.renewConsumer('RESULTS', partitionConsumer(3));
    await bus.store('result.europe.3.p', 'two');
    expect((await all).map((message) => text(message.data))).toEqual(['one', 'two']);
    await pull.stop();
  });

  test('a second pull gets all messages, though the first has an open poll', async () => {
    await bus.ensureConsumer('RESULTS', partitionConsumer(4));
    let owner = 'first';
    const { all, take } = collect(5);
    const [taken, begun]: [string[], string[]] = [[], []];
    const pullOf = (name: string) =>
      bus.pull({
        stream: 'RESULTS',
        consumer: 'partition-4',
        batch: 10,
        mayAsk: () => owner === name,
        onBegin: async () => {
          await bus.renewConsumer('RESULTS', partitionConsumer(4));
          begun.push(name);
        },
        onMessages: async (messages) => {
          for (const message of messages) message.ack();
          taken.push(...messages.map(() => name));
          take(messages);
        },
      });
    const pulls = [pullOf('first'), pullOf('second')];
    await bus.store('result.europe.4.p', '1');
    await expect.poll(() => taken, { timeout: 30_000 }).toEqual(['first']);
    owner = 'second';
    await expect.poll(() => begun, { timeout: 30_000 }).toEqual(['first', 'second']);
    for (const n of [2, 3, 4, 5]) await bus.store('result.europe.4.p', `${n}`);
    expect((await all).map((message) => text(message.data))).toEqual(['1', '2', '3', '4', '5']);
    expect(taken).toEqual(['first', 'second', 'second', 'second', 'second']);
    await Promise.all(pulls.map((pull) => pull.stop()));
  });
});

describe('dial log', () => {
  let lines: {
    readonly msg: string;
    readonly server?: string;
    readonly err?: { readonly message: string };
    readonly failed_dials?: number;
  }[];
  let now: number;
  let dials: DialLog;
  let found: Error | undefined;

  beforeEach(() => {
    lines = [];
    now = 0;
    found = undefined;
    const log = createLog(
      { name: 'test', level: 'info' },
      { write: (line) => void lines.push(JSON.parse(line)) },
    );
    dials = createDialLog(
      log,
      { name: 'eu-1', url: 'nats://me:secret@bus:4222' },
      async () => found,
      () => now,
    );
  });

  const fail = (reason = 'connection refused') => dials.failed(new Error(reason));

  test('the first failed dial is logged at once, with the server and the reason', () => {
    fail();
    expect(lines).toMatchObject([
      {
        msg: 'the bus cannot be reached',
        server: 'nats://bus:4222',
        err: { message: 'connection refused' },
        failed_dials: 1,
      },
    ]);
  });

  test('a day of them is logged at growing intervals, with how many there were', () => {
    for (; now < 86_400_000; now += 300) fail();
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.length).toBeLessThan(160);
    expect(lines.slice(0, 5).map(({ failed_dials }) => failed_dials)).toEqual([
      1, 18, 52, 119, 253,
    ]);
  });

  test('another reason is logged at once, and two that alternate are not logged each time', () => {
    for (let turn = 0; turn < 10; turn += 1) {
      fail('connection refused');
      fail('no such host');
    }
    expect(lines.map(({ err }) => err?.message)).toEqual(['connection refused', 'no such host']);
  });

  test('reasons without end do not fill the log', () => {
    for (let turn = 0; turn < 1_000; turn += 1) fail(`reason ${turn}`);
    expect(lines.length).toBeLessThan(10);
  });

  test('the reason of a failed reconnect is found out when a line is due, and not told once it is over', async () => {
    found = new Error('the certificate is too old');
    for (; now < 4_900; now += 300) dials.failed();
    await eventually(() => lines.length === 1);
    expect(lines[0]?.err?.message).toBe('the certificate is too old');
    for (; now < 5_400; now += 300) dials.failed();
    dials.reached();
    await new Promise(setImmediate);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the bus cannot be reached',
      'connected to the bus',
    ]);
  });

  test('a success is logged, and the next absence starts afresh', () => {
    dials.reached();
    expect(lines).toEqual([]);
    fail();
    fail();
    dials.reached();
    fail();
    expect(lines.map(({ msg, failed_dials }) => [msg, failed_dials])).toEqual([
      ['the bus cannot be reached', 1],
      ['connected to the bus', 2],
      ['the bus cannot be reached', 1],
    ]);
  });
});

describe('server version', () => {
  test.each([
    ['2.9.10', false],
    ['2.10.27', false],
    ['2.11.14', false],
    ['2.11.15', true],
    ['2.12.5', false],
    ['2.12.6', true],
    ['2.12.10-RC.1', true],
    ['2.13.0', true],
    ['3.0.0', true],
    ['', false],
    ['latest', false],
  ])('nats-server %s is safe: %s', (version, isSafe) => {
    expect(isSafeServer(version)).toBe(isSafe);
  });

  test('an old server is refused where others than this machine reach it, and says what would do', () => {
    expect(isWithinMachine(['nats://127.0.0.1:4222', 'tls://localhost,tls://[::1]:443'])).toBe(
      true,
    );
    expect(isWithinMachine(['nats://127.0.0.1:4222,nats://10.0.0.1:4222'])).toBe(false);
    expect(serverFault('2.10.27', ['nats://127.0.0.1:4222'])).toBeUndefined();
    expect(serverFault('2.12.6', ['tls://bus.example'])).toBeUndefined();
    expect(serverFault('2.10.27', ['nats://127.0.0.1:4222', 'tls://bus.example'])).toContain(
      'must be 2.11.15 or 2.12.6 or newer',
    );
  });
});

describe('the credentials of a probe', () => {
  const given = {
    probe: '0198c0de-0000-7000-8000-000000000001',
    name: 'eu-1',
    continent: 'Europe' as const,
    organisation: null,
    nats_url: 'nats://bus.example:4222',
    nats_credentials: issueCredentials({ name: 'eu-1', account: createKey('account') }, 0)
      .credentials,
    signing_keys: [createKey('user').id],
  };

  test('are one word that decodes to what was printed', () => {
    const word = printProbeCredentials(given);
    expect(word).toMatch(/^[\w-]+$/);
    expect(parseProbeCredentials(`  ${word}\n`)).toEqual({ v: 1, ...given });
  });

  test.each([
    ['half of the word', printProbeCredentials(given).slice(0, 100), 'copy the whole line'],
    ['something else', 'hello', 'copy the whole line'],
    [
      'a continent that is none',
      Buffer.from(JSON.stringify({ v: 1, ...given, continent: 'Atlantis' })).toString('base64url'),
      'continent',
    ],
    [
      'no credentials of the bus',
      Buffer.from(JSON.stringify({ v: 1, ...given, nats_credentials: '' })).toString('base64url'),
      'nats_credentials',
    ],
  ])('are refused when they are %s', (_, word, says) => {
    expect(() => parseProbeCredentials(word)).toThrow(says);
  });

  test('never stand in the message of a refusal', () => {
    const broken = Buffer.from(JSON.stringify({ ...given, v: 2 })).toString('base64url');
    let said = '';
    try {
      parseProbeCredentials(broken);
    } catch (error) {
      said = String(error);
    }
    expect(said).toContain('are invalid');
    for (const line of given.nats_credentials.split('\n').filter((text) => text.length > 40))
      expect(said).not.toContain(line);
  });
});

describe('refusals of the bus', () => {
  const refused = new errors.AuthorizationError('Authorization Violation');
  const revoked = new Error('User Authentication Revoked');

  test('are believed after ten seconds where the bus said that it revoked the credentials', () => {
    let now = 0;
    const refusals = createRefusals('old', () => now);
    refusals.ended(revoked);
    expect(refusals.failed(refused)).toBeUndefined();
    now = 10_000;
    expect(refusals.failed(refused)).toBe('revoked');
  });

  test('without a reason are believed after an hour with nothing else between them', () => {
    let now = 0;
    const refusals = createRefusals('old', () => now);
    for (; now < 3_600_000; now += 5_000) expect(refusals.failed(refused)).toBeUndefined();
    refusals.failed(new Error('connection refused'));
    expect(refusals.failed(refused)).toBeUndefined();
    now += 3_600_000;
    expect(refusals.failed(refused)).toBe('refused');
    refusals.reached();
    expect(refusals.failed(refused)).toBeUndefined();
  });

  test('of old credentials are nothing to whoever has newer ones', () => {
    let now = 0;
    let text = 'old';
    const refusals = createRefusals(
      () => text,
      () => now,
    );
    refusals.ended(revoked);
    expect(refusals.failed(refused)).toBeUndefined();
    text = 'new';
    now = 20_000;
    expect(refusals.failed(refused)).toBeUndefined();
    now = 40_000;
    expect(refusals.failed(refused)).toBeUndefined();
  });
});
