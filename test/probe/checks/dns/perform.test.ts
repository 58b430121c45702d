import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { exchange } from '../../../../probe/checks/dns/exchange.ts';
import { write } from '../../../../probe/checks/dns/message.ts';
import type { Asker, UdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { type Asked, answerTo, type Resolver, rawAnswerTo } from '../../../support/name-servers.ts';
import { deadlineIn, dnsChecker } from '../../support/checkers.ts';
import { address, dnsBench, word } from '../../support/dns-setup.ts';

describe('perform', () => {
  const { sockets, resolver, ask } = dnsBench();

  const question = { name: 'example.test', type: 'A' } as const;
  const asking = { question, written: write(question), transport: 'udp' } as const;
  const never = () => deadlineIn(Number.POSITIVE_INFINITY);

  const closedPort = async (): Promise<number> => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    socket.close();
    return port;
  };

  /** A resolver that is a name server of the zone as well; the other has this address. */
  const zoneWith = (other: string) =>
    resolver(({ query }) => {
      const [asked] = dnsPacket.decode(query).questions ?? [];
      const record = { name: asked?.name ?? '', ttl: 60 };
      if (asked?.type === 'NS' && asked.name === 'example.test')
        return answerTo(query, {
          answers: ['ns1.example.test', 'ns2.example.test'].map((data) => ({
            ...record,
            type: 'NS',
            data,
          })),
        });
      const data = asked?.name === 'ns2.example.test' ? other : '127.0.0.1';
      return answerTo(
        query,
        asked?.type === 'A' ? { answers: [{ ...record, type: 'A', data }] } : {},
      );
    });
  const askZone = async ({ port }: Resolver, interval_ms = 900_000) =>
    await dnsChecker(sockets, {
      resolvers: () => [{ address: '127.0.0.1', port, family: 4 }],
      nameServerPort: port,
    })({ target: 'www.example.test', interval_ms });

  describe('rule 44: of the name servers of a zone', () => {
    test('one that is silent is warned of, and the check passes', async () => {
      expect(await askZone(await zoneWith('127.0.0.2'))).toMatchObject({
        outcome: 'ok',
        warnings: [{ code: 'name_server_silent', details: { server: '127.0.0.2', servers: 2 } }],
      });
    });

    test('one that may not be asked is left out', async () => {
      expect(await askZone(await zoneWith('10.0.0.1'))).not.toHaveProperty('warnings');
    });

    test('all are asked now and then only', async () => {
      const zone = await zoneWith('127.0.0.1');
      await askZone(zone, 900_000_000);
      const each = zone.asked();
      await askZone(zone, 1_000);
      expect(zone.asked() - each).toBe(1);
    });
  });

  describe('a resolver', () => {
    test('that is silent differs from one that refuses and from a name that does not exist', async () => {
      const silent = await resolver(() => null);
      const refusing = await resolver(({ query }) => answerTo(query, { rcode: 5 }));
      const ignorant = await resolver(({ query }) => answerTo(query, { rcode: 3 }));
      const failing = await resolver(({ query }) => answerTo(query, { rcode: 2 }));
      const words = await Promise.all([
        ask(silent, {}, 400),
        ask(refusing),
        ask(ignorant),
        ask(failing),
      ]);
      expect(words.map(word)).toEqual([
        'dns_silent',
        'dns_refused',
        'dns_name_missing',
        'dns_server_failed',
      ]);
    });

    test('that knows the name as an alias of one that does not exist differs from one that does not know it', async () => {
      const cname = { type: 'CNAME', name: 'Example.test', ttl: 60, data: 'gone.test' } as const;
      const by = await resolver(({ query }) => answerTo(query, { rcode: 3, answers: [cname] }));
      expect(word(await ask(by))).toBe('dns_alias_dangling');
      expect(word(await ask(by, { expected_rcode: 'NXDOMAIN' }))).toBe('ok');
    });

    test('is reported with the address of ours that it saw, where it returns one', async () => {
      const refusing = await resolver(({ query }) => answerTo(query, { rcode: 5 }));
      expect((await ask(refusing)).evidence).toMatchObject({
        outgoing_address: '127.0.0.1',
        resolver: { address: '127.0.0.1' },
      });
    });

    test('that loses datagrams is asked again within the deadline, from other ports and under other ids', async () => {
      const by = await resolver(({ query, count }) => (count < 3 ? null : address(query)));
      expect(await ask(by)).toMatchObject({ outcome: 'ok', evidence: { attempts: 3 } });
      expect(new Set(by.ids).size).toBe(3);
    });

    test('that answers the first datagram after the second was sent is accepted', async () => {
      let first: Buffer | undefined;
      const by: Resolver = await resolver(({ query, count }) => {
        if (count === 1) first = query;
        if (count === 2 && first) by.send(address(first), by.sources[0] ?? 0);
        return null;
      });
      expect(await ask(by)).toMatchObject({ outcome: 'ok' });
    });

    test('that truncates is asked by TCP', async () => {
      const by = await resolver(({ query, over }) =>
        over === 'udp' ? answerTo(query, { flags: dnsPacket.TRUNCATED_RESPONSE }) : address(query),
      );
      expect(await ask(by)).toMatchObject({ outcome: 'ok', evidence: { transport: 'tcp' } });
    });

    test('that truncates and does not listen by TCP has truncated its answer', async () => {
      const by = await resolver(
        ({ query }) => answerTo(query, { flags: dnsPacket.TRUNCATED_RESPONSE }),
        { tcp: false },
      );
      expect(word(await ask(by))).toBe('dns_truncated');
    });

    test('that refuses the TCP connection is named', async () => {
      const by = await resolver(() => null, { tcp: false });
      expect(word(await ask(by, { transport: 'tcp' }))).toBe('dns_tcp_refused');
    });

    test('that no longer runs is recognised by its closed port, without waiting for the deadline', async () => {
      const nobody = { address: '127.0.0.1', port: await closedPort(), family: 4 } as const;
      const seen = await exchange(
        sockets,
        { ...asking, resolvers: [nobody], patience_ms: 50 },
        never(),
      );
      expect(seen).toMatchObject({ outcome: { is: 'closed' }, attempts: 3 });
      const verdict = await dnsChecker(sockets)({
        target: 'example.test',
        config: { resolver: `127.0.0.1:${nobody.port}` },
        timeout_ms: 400,
      });
      expect(word(verdict)).toBe('dns_port_closed');
    });

    test('whose port is closed does not decide for the other one, which may only be slow', async () => {
      const gone = { address: '127.0.0.1', port: await closedPort(), family: 4 } as const;
      const slow = await resolver(({ query, count }) => (count < 3 ? null : address(query)));
      const own = [gone, { ...gone, port: slow.port }] as const;
      const seen = await exchange(sockets, { ...asking, resolvers: own, patience_ms: 20 }, never());
      expect(seen).toMatchObject({ outcome: { is: 'answer' }, attempts: 6 });
    });

    test('that restarts is waited for', async () => {
      const port = await closedPort();
      const again = createSocket('udp4').on('message', (query, from) =>
        again.send(address(query), from.port, from.address),
      );
      const watching: UdpSockets = {
        ...sockets,
        ask: (by, question, asker, watched) => {
          const fail: Asker['fail'] = (error, ticket) => {
            asker.fail(error, ticket);
            again.bind(port, '127.0.0.1');
          };
          return sockets.ask(
            by,
            question,
            { hear: (answer, ticket) => asker.hear(answer, ticket), fail },
            watched,
          );
        },
      };
      const verdict = await dnsChecker(watching)({
        target: 'example.test',
        config: { resolver: `127.0.0.1:${port}` },
      });
      expect(verdict).toMatchObject({ outcome: 'ok', evidence: { attempts: 3 } });
      again.close();
    });

    test('that does not know EDNS is asked without it', async () => {
      const by = await resolver(({ query }) =>
        query.readUInt16BE(10) > 0 ? answerTo(query, { rcode: 1 }) : address(query),
      );
      expect(await ask(by)).toMatchObject({ outcome: 'ok', evidence: { edns: false } });
    });

    test('that does not know EDNS is asked without it by TCP too, also for the whole of a truncated answer', async () => {
      const by = await resolver(({ query, over }) => {
        if (query.readUInt16BE(10) > 0) return answerTo(query, { rcode: 1 });
        return over === 'udp'
          ? answerTo(query, { flags: dnsPacket.TRUNCATED_RESPONSE })
          : address(query);
      });
      expect(await ask(by)).toMatchObject({
        outcome: 'ok',
        evidence: { transport: 'tcp', edns: false },
      });
      expect(await ask(by, { transport: 'tcp' })).toMatchObject({
        outcome: 'ok',
        evidence: { transport: 'tcp', edns: false },
      });
    });

    test('that knows another version of EDNS is asked without it', async () => {
      const by = await resolver(({ query }) => {
        if (query.readUInt16BE(10) === 0) return address(query);
        const refused = answerTo(query);
        refused.writeUInt16BE(1, 10);
        // BADVERS is 16, whose upper bits stand in the OPT.
        return Buffer.concat([refused, Buffer.from([0, 0, 41, 4, 208, 1, 1, 0, 0, 0, 0])]);
      });
      expect(await ask(by)).toMatchObject({ outcome: 'ok', evidence: { edns: false } });
      expect(await ask(by, { transport: 'tcp' })).toMatchObject({
        outcome: 'ok',
        evidence: { edns: false },
      });
    });

    test('that answers with a bare header is still understood', async () => {
      const by = await resolver(({ query }) => {
        const bare = Buffer.alloc(12);
        bare.writeUInt16BE(query.readUInt16BE(0), 0);
        bare.writeUInt16BE(0x8005, 2);
        return bare;
      });
      expect(word(await ask(by))).toBe('dns_refused');
    });

    test('that authenticated the answer shows it, and says why it failed', async () => {
      const by = await resolver(({ query }) => address(query, { flags: dnsPacket.AUTHENTIC_DATA }));
      expect(await ask(by, { require_authenticated_data: true })).toMatchObject({
        outcome: 'ok',
        evidence: { flags: ['rd', 'ra', 'ad'] },
      });
      const bogus = await resolver(({ query }) => {
        const failed = answerTo(query, { rcode: 2 });
        failed.writeUInt16BE(1, 10);
        const text = Buffer.from('signature expired');
        const option = Buffer.alloc(6);
        option.writeUInt16BE(15, 0);
        option.writeUInt16BE(text.length + 2, 2);
        option.writeUInt16BE(7, 4);
        const opt = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, option.length + text.length]);
        return Buffer.concat([failed, opt, option, text]);
      });
      expect(await ask(bogus)).toMatchObject({
        cause: { class: 'dns_server_failed' },
        evidence: { extended_error: { code: 7, text: 'signature expired' } },
      });
    });

    test('that is not public is never asked', async () => {
      const by = await resolver(({ query }) => address(query));
      const verdict = await dnsChecker(sockets)({
        target: 'example.test',
        config: { resolver: by.address },
        public_only: true,
      });
      expect(word(verdict)).toBe('address_not_public');
      const limited = await dnsChecker(sockets)({
        target: 'example.test',
        config: { resolver: by.address },
        others_may: true,
      });
      expect(limited).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_may_not_reach' },
      });
      expect(by.asked()).toBe(0);
    });
  });

  describe("the probe's own resolver", () => {
    const checker = (by: readonly Resolver[]) =>
      dnsChecker(sockets, {
        resolvers: () => by.map(({ port }) => ({ address: '127.0.0.1', port, family: 4 as const })),
      });

    test('that answers nothing is the fault of the probe', async () => {
      for (const say of [
        () => null,
        ({ query }: Asked) => answerTo(query, { rcode: 2 }),
        ({ query }: Asked) => answerTo(query, { rcode: 5 }),
      ]) {
        const by = await resolver(say);
        expect(await checker([by])({ target: 'example.test', timeout_ms: 600 })).toMatchObject({
          outcome: 'unknown',
          cause: { class: 'probe_resolver' },
        });
      }
      expect(await checker([])({ target: 'example.test' })).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_resolver' },
      });
    });

    test('that answers for the root and not for the name makes it the fault of the name', async () => {
      const lame = await resolver(({ query, name }) =>
        name === '.' ? answerTo(query) : answerTo(query, { rcode: 2 }),
      );
      expect(await checker([lame])({ target: 'example.test' })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'dns_server_failed' },
      });
      const mute = await resolver(({ query, name }) => (name === '.' ? answerTo(query) : null));
      expect(await checker([mute])({ target: 'example.test', timeout_ms: 600 })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'dns_silent' },
      });
    });

    test('that says that the name does not exist is believed', async () => {
      const by = await resolver(({ query }) => answerTo(query, { rcode: 3 }));
      expect(await checker([by])({ target: 'example.test' })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'dns_name_missing' },
      });
    });

    test('that accepts no TCP connection proves nothing about a name that needs one, whatever it answers by UDP', async () => {
      const cut = ({ query, name }: Asked) =>
        name === '.' ? answerTo(query) : answerTo(query, { flags: dnsPacket.TRUNCATED_RESPONSE });
      const deaf = await resolver(cut, { tcp: false });
      for (const config of [{}, { transport: 'tcp' }])
        expect(await checker([deaf])({ target: 'example.test', config })).toMatchObject({
          outcome: 'unknown',
          cause: { class: 'probe_resolver' },
        });
      const good = await resolver(({ query }) => address(query));
      expect(
        await checker([deaf, good])({ target: 'example.test', config: { transport: 'tcp' } }),
      ).toMatchObject({ outcome: 'ok' });
      const mute = await resolver(({ query, over }) => (over === 'tcp' ? null : answerTo(query)));
      expect(
        await checker([mute])({
          target: 'example.test',
          config: { transport: 'tcp' },
          timeout_ms: 600,
        }),
      ).toMatchObject({
        outcome: 'fail',
        cause: { class: 'dns_silent' },
      });
    });

    test('is replaced by a second one when the first is silent or evasive', async () => {
      const silent = await resolver(() => null);
      const evading = await resolver(({ query }) => answerTo(query, { rcode: 5 }));
      const good = await resolver(({ query }) => address(query));
      expect(await checker([silent, good])({ target: 'example.test' })).toMatchObject({
        outcome: 'ok',
      });
      expect(await checker([evading, good])({ target: 'example.test' })).toMatchObject({
        outcome: 'ok',
        evidence: { resolver: { own: true } },
      });
    });
  });
});

describe('a hostile answer', () => {
  const { resolver, ask } = dnsBench();

  /** One record at the end of an answer: owner is a pointer to the question unless given. */
  const record = (
    type: number,
    data: Buffer,
    owner = Buffer.from([0xc0, 12]),
    length = data.length,
  ): Buffer => {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(type, 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt32BE(300, 4);
    fixed.writeUInt16BE(length, 8);
    return Buffer.concat([owner, fixed, data]);
  };

  const questionEnd = 12 + 'example.test'.length + 2 + 4;

  const rows: readonly (readonly [what: string, (query: Buffer) => Buffer, cause: string])[] = [
    [
      'a name that points at itself',
      (query) =>
        rawAnswerTo(
          query,
          1,
          record(1, Buffer.from([192, 0, 2, 1]), Buffer.from([0xc0, questionEnd])),
        ),
      'dns_malformed',
    ],
    [
      'two names that point at each other',
      (query) =>
        rawAnswerTo(
          query,
          1,
          record(5, Buffer.from([0xc0, questionEnd]), Buffer.from([0xc0, questionEnd + 12])),
        ),
      'dns_malformed',
    ],
    [
      'a pointer forward',
      (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0xc0, 0xff]))),
      'dns_malformed',
    ],
    [
      'a pointer beyond the message',
      (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0xff, 0xff]))),
      'dns_malformed',
    ],
    [
      'a label with reserved bits',
      (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0x80, 0]))),
      'dns_malformed',
    ],
    [
      'a name longer than 255 bytes',
      (query) =>
        rawAnswerTo(
          query,
          1,
          record(
            5,
            Buffer.concat([
              ...Array.from({ length: 5 }, () =>
                Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 97)]),
              ),
              Buffer.from([0]),
            ]),
          ),
        ),
      'dns_malformed',
    ],
    [
      'a record longer than the message',
      (query) => rawAnswerTo(query, 1, record(1, Buffer.from([192, 0, 2, 1]), undefined, 400)),
      'dns_malformed',
    ],
    [
      'an address of three bytes',
      (query) => rawAnswerTo(query, 1, record(1, Buffer.from([192, 0, 2]))),
      'dns_malformed',
    ],
    [
      'more records announced than sent',
      (query) => rawAnswerTo(query, 9, record(1, Buffer.from([192, 0, 2, 1]))),
      'dns_malformed',
    ],
    [
      'bytes behind the last record',
      (query) => Buffer.concat([address(query), Buffer.from('more')]),
      'dns_malformed',
    ],
    [
      'a name that runs over its record',
      (query) =>
        rawAnswerTo(
          query,
          1,
          Buffer.concat([record(5, Buffer.from([3, 97]), undefined, 2), Buffer.from([98, 99, 0])]),
        ),
      'dns_malformed',
    ],
    [
      'two questions',
      (query) => {
        const message = address(query);
        message.writeUInt16BE(2, 4);
        return message;
      },
      'dns_malformed',
    ],
    [
      'an OPT among the answers',
      (query) => rawAnswerTo(query, 1, record(41, Buffer.alloc(0), Buffer.from([0]))),
      'dns_malformed',
    ],
    [
      'a thousand and one records',
      (query) => {
        const message = address(query);
        message.writeUInt16BE(1_001, 8);
        return message;
      },
      'dns_oversized',
    ],
    [
      'five thousand bytes by UDP',
      (query) => Buffer.concat([address(query), Buffer.alloc(5_000)]),
      'dns_oversized',
    ],
    ['a header cut short', (query) => address(query).subarray(0, 7), 'dns_malformed'],
    [
      'a service binding with keys out of order',
      (query) =>
        rawAnswerTo(
          query,
          1,
          record(65, Buffer.from([0, 1, 0, 0, 3, 0, 2, 1, 187, 0, 1, 0, 3, 2, 104, 50])),
        ),
      'dns_malformed',
    ],
  ];

  test.for(rows)('is refused: %s', async ([, say, cause]) => {
    const by = await resolver(({ query }) => say(query));
    expect(word(await ask(by))).toBe(cause);
  });

  test('of another id is ignored, and the right one behind it is accepted', async () => {
    const by = await resolver(({ query }) => {
      const forged = answerTo(query, {
        answers: [{ type: 'A', name: 'example.test', ttl: 1, data: '203.0.113.66' }],
      });
      forged.writeUInt16BE((query.readUInt16BE(0) + 1) & 0xffff, 0);
      return [forged, address(query)];
    });
    expect(await ask(by, { expected_values: ['192.0.2.1'], match: 'exact' })).toMatchObject({
      outcome: 'ok',
    });
  });

  test('to another question under the right id is not believed', async () => {
    const other = (query: Buffer): Buffer =>
      dnsPacket.encode({
        type: 'response',
        id: query.readUInt16BE(0),
        questions: [{ type: 'A', name: 'evil.test' }],
        answers: [{ type: 'A', name: 'evil.test', data: '203.0.113.66' }],
      });
    const by = await resolver(({ query }) => [other(query), address(query)]);
    expect(await ask(by)).toMatchObject({ outcome: 'ok', evidence: { strays: 1 } });
    const liar = await resolver(({ query }) => other(query));
    expect(word(await ask(liar, {}, 400))).toBe('dns_wrong_question');
  });

  test('from another port is ignored', async () => {
    const stranger = await resolver(() => null);
    const by: Resolver = await resolver(({ query }) => {
      stranger.send(address(query), by.sources.at(-1) ?? 0);
      return null;
    });
    expect(word(await ask(by, {}, 400))).toBe('dns_silent');
  });

  test('of a chain of aliases that runs in a circle ends', async () => {
    const by = await resolver(({ query }) =>
      answerTo(query, {
        answers: [
          { type: 'CNAME', name: 'example.test', data: 'b.test' },
          { type: 'CNAME', name: 'b.test', data: 'example.test' },
        ],
      }),
    );
    expect(word(await ask(by))).toBe('dns_no_records');
  });

  test('with records beside the chain does not count them', async () => {
    const by = await resolver(({ query }) =>
      answerTo(query, { answers: [{ type: 'A', name: 'elsewhere.test', data: '192.0.2.1' }] }),
    );
    expect(word(await ask(by, { expected_values: ['192.0.2.1'] }))).toBe('dns_no_records');
  });

  test('puts no text of its own into the cause, and strange bytes only escaped into the evidence', async () => {
    const name = Buffer.concat([Buffer.from([4]), Buffer.from('\n.\\"'), Buffer.from([0])]);
    const by = await resolver(({ query }) => rawAnswerTo(query, 1, record(5, name)));
    const verdict = await ask(by, { record_type: 'CNAME', expected_values: ['a.test'] });
    expect(verdict).toMatchObject({
      cause: { class: 'dns_none_expected', params: { type: 'CNAME' } },
    });
    expect(JSON.stringify(verdict.evidence)).toContain('\\\\010\\\\.\\\\\\\\');
  });
});
