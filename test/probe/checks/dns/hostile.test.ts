import dnsPacket from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { answerTo, type Resolver, rawAnswerTo } from '../../../support/name-servers.ts';
import { address, dnsBench, word } from '../../support/dns-setup.ts';

const { resolver, ask } = dnsBench();

/** One record at the end of an answer: owner is a pointer to the question unless given. */
const record = (type: number, data: Buffer, owner = Buffer.from([0xc0, 12]), length = data.length): Buffer => {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(300, 4);
  fixed.writeUInt16BE(length, 8);
  return Buffer.concat([owner, fixed, data]);
};

const questionEnd = 12 + 'example.test'.length + 2 + 4;

describe('a hostile answer', () => {
  const rows: readonly (readonly [what: string, (query: Buffer) => Buffer, cause: string])[] = [
    [
      'a name that points at itself',
      (query) => rawAnswerTo(query, 1, record(1, Buffer.from([192, 0, 2, 1]), Buffer.from([0xc0, questionEnd]))),
      'dns_malformed',
    ],
    [
      'two names that point at each other',
      (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0xc0, questionEnd]), Buffer.from([0xc0, questionEnd + 12]))),
      'dns_malformed',
    ],
    ['a pointer forward', (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0xc0, 0xff]))), 'dns_malformed'],
    ['a pointer beyond the message', (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0xff, 0xff]))), 'dns_malformed'],
    ['a label with reserved bits', (query) => rawAnswerTo(query, 1, record(5, Buffer.from([0x80, 0]))), 'dns_malformed'],
    [
      'a name longer than 255 bytes',
      (query) =>
        rawAnswerTo(
          query,
          1,
          record(
            5,
            Buffer.concat([...Array.from({ length: 5 }, () => Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 97)])), Buffer.from([0])]),
          ),
        ),
      'dns_malformed',
    ],
    [
      'a record longer than the message',
      (query) => rawAnswerTo(query, 1, record(1, Buffer.from([192, 0, 2, 1]), undefined, 400)),
      'dns_malformed',
    ],
    ['an address of three bytes', (query) => rawAnswerTo(query, 1, record(1, Buffer.from([192, 0, 2]))), 'dns_malformed'],
    ['more records announced than sent', (query) => rawAnswerTo(query, 9, record(1, Buffer.from([192, 0, 2, 1]))), 'dns_malformed'],
    ['bytes behind the last record', (query) => Buffer.concat([address(query), Buffer.from('more')]), 'dns_malformed'],
    [
      'a name that runs over its record',
      (query) => rawAnswerTo(query, 1, Buffer.concat([record(5, Buffer.from([3, 97]), undefined, 2), Buffer.from([98, 99, 0])])),
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
    ['an OPT among the answers', (query) => rawAnswerTo(query, 1, record(41, Buffer.alloc(0), Buffer.from([0]))), 'dns_malformed'],
    [
      'a thousand and one records',
      (query) => {
        const message = address(query);
        message.writeUInt16BE(1_001, 8);
        return message;
      },
      'dns_oversized',
    ],
    ['five thousand bytes by UDP', (query) => Buffer.concat([address(query), Buffer.alloc(5_000)]), 'dns_oversized'],
    ['a header cut short', (query) => address(query).subarray(0, 7), 'dns_malformed'],
    [
      'a service binding with keys out of order',
      (query) => rawAnswerTo(query, 1, record(65, Buffer.from([0, 1, 0, 0, 3, 0, 2, 1, 187, 0, 1, 0, 3, 2, 104, 50]))),
      'dns_malformed',
    ],
  ];

  test.for(rows)('is refused: %s', async ([, say, cause]) => {
    const by = await resolver(({ query }) => say(query));
    expect(word(await ask(by))).toBe(cause);
  });

  test('of another id is not heard, and the right one behind it is', async () => {
    const by = await resolver(({ query }) => {
      const forged = answerTo(query, { answers: [{ type: 'A', name: 'example.test', ttl: 1, data: '203.0.113.66' }] });
      forged.writeUInt16BE((query.readUInt16BE(0) + 1) & 0xffff, 0);
      return [forged, address(query)];
    });
    expect(await ask(by, { expected_values: ['192.0.2.1'], match: 'exact' })).toMatchObject({ outcome: 'ok' });
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

  test('from another port is not heard', async () => {
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
    const by = await resolver(({ query }) => answerTo(query, { answers: [{ type: 'A', name: 'elsewhere.test', data: '192.0.2.1' }] }));
    expect(word(await ask(by, { expected_values: ['192.0.2.1'] }))).toBe('dns_no_records');
  });

  test('puts no text of its own into the cause, and strange bytes only escaped into the evidence', async () => {
    const name = Buffer.concat([Buffer.from([4]), Buffer.from('\n.\\"'), Buffer.from([0])]);
    const by = await resolver(({ query }) => rawAnswerTo(query, 1, record(5, name)));
    const verdict = await ask(by, { record_type: 'CNAME', expected_values: ['a.test'] });
    expect(verdict).toMatchObject({ cause: { class: 'dns_none_expected', params: { type: 'CNAME' } } });
    expect(JSON.stringify(verdict.evidence)).toContain('\\\\010\\\\.\\\\\\\\');
  });
});
