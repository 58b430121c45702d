import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { exchange } from '../../../../probe/checks/dns/exchange.ts';
import { withId, write } from '../../../../probe/checks/dns/message.ts';
import { createUdpSockets, type UdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { answerTo } from '../../../support/name-servers.ts';
import fc from '../../../support/random.ts';
import { deadlineIn, dnsChecker } from '../../support/checkers.ts';
import { address, dnsBench, word } from '../../support/dns-setup.ts';

const { resolver } = dnsBench();

const question = { name: 'example.test', type: 'A' } as const;
const asking = { question, written: write(question), transport: 'udp' } as const;
const never = () => deadlineIn(Number.POSITIVE_INFINITY);

/** What may come for a question before its answer; `isStrange`: from another port. */
type Datagram = {
  readonly is: string;
  readonly of: (query: Buffer) => Buffer;
  readonly isStrange?: true;
};
const datagrams: readonly Datagram[] = [
  { is: 'an address', of: (query) => address(query) },
  { is: 'an address from another port', of: (query) => address(query), isStrange: true },
  {
    is: 'an address under another id',
    of: (query) => withId(address(query), query.readUInt16BE(0) ^ 1),
  },
  {
    is: 'an answer to another question',
    of: (query) => answerTo(query, { questions: [{ type: 'A', name: 'other.test' }] }),
  },
  { is: 'a failure', of: (query) => answerTo(query, { rcode: 2 }) },
  { is: 'a refusal of EDNS', of: (query) => answerTo(query, { rcode: 1 }) },
  { is: 'the question', of: (query) => query },
  { is: 'half a head', of: (query) => query.subarray(0, 7) },
  { is: 'a byte', of: (query) => query.subarray(0, 1) },
];
const noSuchName: Datagram = { is: 'no such name', of: (query) => answerTo(query, { rcode: 3 }) };

describe('the sockets', () => {
  test('spread questions over many ports, and renew each port after a thousand questions', async () => {
    const own = createUdpSockets({ slots: 4 });
    const by = await resolver(({ query }) => address(query));
    const check = dnsChecker(own);
    for (let round = 0; round < 60; round += 1) {
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, () =>
          check({ target: 'example.test', config: { resolver: by.address } }),
        ),
      );
      expect(verdicts.every(({ outcome }) => outcome === 'ok')).toBe(true);
    }
    const uses = new Map<number, number>();
    for (const port of by.sources) uses.set(port, (uses.get(port) ?? 0) + 1);
    expect(uses.size).toBeGreaterThan(5);
    expect(Math.max(...uses.values())).toBeLessThanOrEqual(1_000);
    expect(own.open()).toBeLessThanOrEqual(4);
    expect(new Set(by.ids).size).toBeGreaterThan(5_000);
    own.close();
  });

  test('hear what a socket for each question hears, whatever comes before the answer', async () => {
    const shared = createUdpSockets({ slots: 1 });
    const lone: UdpSockets = {
      ...shared,
      ask: (to, query, asker) => shared.ask(to, query, asker, true),
    };
    const stranger = createSocket('udp4');
    /** What each question gets: the one for 3.test what has the place 3. */
    let scripts: readonly (readonly Datagram[])[] = [];
    const by = await resolver(
      ({ query, name }) => {
        const all = [...(scripts[Number.parseInt(name, 10)] ?? []), noSuchName];
        for (const { of, isStrange } of all)
          if (isStrange) stranger.send(of(query), by.sources.at(-1) ?? 0, '127.0.0.1');
        return all.filter(({ isStrange }) => !isStrange).map(({ of }) => of(query));
      },
      { tcp: false },
    );
    const to = { address: '127.0.0.1', port: by.port, family: 4 } as const;
    const heard = (own: UdpSockets) =>
      Promise.all(
        scripts.map(async (_, nth) => {
          const asked = { name: `${nth}.test`, type: 'A' } as const;
          const { outcome, attempts } = await exchange(
            own,
            {
              question: asked,
              written: write(asked),
              transport: 'udp',
              resolvers: [to],
              patience_ms: 10_000,
            },
            never(),
          );
          return [outcome.is, outcome.is === 'answer' ? outcome.message.rcode : null, attempts];
        }),
      );
    const script = fc.array(fc.constantFrom(...datagrams), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 20 }), async (some) => {
        scripts = some;
        expect(await heard(shared)).toEqual(await heard(lone));
      }),
      { numRuns: 100 },
    );
    stranger.close();
    shared.close();
  });

  test('are released when the check is ended from outside', async () => {
    const own = createUdpSockets();
    const by = await resolver(() => null);
    const end = never();
    const running = dnsChecker(own)({
      target: 'example.test',
      config: { resolver: by.address },
      deadline: end,
    });
    end.end();
    expect(word(await running)).toBe('dns_silent');
    own.close();
  });

  test('are released when the check is ended from outside after it asked again', async () => {
    const own = createUdpSockets();
    const end = never();
    const by = await resolver(({ count }) => {
      if (count === 2) end.end();
      return null;
    });
    const verdict = await dnsChecker(own)({
      target: 'example.test',
      config: { resolver: by.address },
      deadline: end,
    });
    expect(word(verdict)).toBe('dns_silent');
    expect(verdict.evidence).toMatchObject({ attempts: 2 });
    own.close();
  });

  test('report datagrams that the system will not send, without waiting for the deadline', async () => {
    const own = createUdpSockets();
    // A broadcast, which the system refuses to a socket that did not ask for leave.
    const nowhere = { address: '255.255.255.255', port: 53, family: 4 } as const;
    const seen = await exchange(own, { ...asking, resolvers: [nowhere], patience_ms: 50 }, never());
    expect(seen).toMatchObject({ outcome: { is: 'failed' }, attempts: 2 });
    own.close();
  });

  test('that a resolver refuses while it restarts are kept, and its questions are asked again', async () => {
    const own = createUdpSockets();
    const gone = createSocket('udp4').bind(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address();
    const check = dnsChecker(own);
    const ask = () =>
      check({
        target: 'example.test',
        timeout_ms: 2_000,
        config: { resolver: `127.0.0.1:${port}` },
      });
    const before = Array.from({ length: 80 }, ask);
    await once(gone, 'message');
    const open = own.open();
    gone.close();
    await once(gone, 'close');
    const during = Array.from({ length: 20 }, ask);
    // They are refused in the same moment.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const again = createSocket('udp4').on('message', (query, from) =>
      again.send(address(query), from.port, from.address),
    );
    again.bind(port, '127.0.0.1');
    const verdicts = await Promise.all([...before, ...during]);
    expect(new Set(verdicts.map(word))).toEqual(new Set(['ok']));
    expect(own.open()).toBe(open);
    again.close();
    own.close();
  });

  test('that were closed send nothing more', async () => {
    const own = createUdpSockets();
    const by = await resolver(({ query }) => address(query));
    expect(
      word(await dnsChecker(own)({ target: 'example.test', config: { resolver: by.address } })),
    ).toBe('ok');
    own.close();
    const late = {
      ...asking,
      resolvers: [{ address: '127.0.0.1', port: by.port, family: 4 }],
      patience_ms: 20,
    } as const;
    expect(await exchange(own, late, deadlineIn(100))).toMatchObject({ outcome: { is: 'silent' } });
    expect(by.asked()).toBe(1);
    expect(own.open()).toBe(0);
  });
});
