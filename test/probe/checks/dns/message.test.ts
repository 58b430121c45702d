import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMessage, withId, write, writeQuestion } from '../../../../probe/checks/dns/message.ts';
import { recordTypes } from '../../../../shared/checks/dns/keys.ts';

const question = { name: 'www.example.test', type: 'A' } as const;
const { plain } = write(question);

describe('a question', () => {
  test('reads as what it is to another codec', () => {
    const written = withId(writeQuestion({ name: 'svc.example.test', type: 'HTTPS' }, true), 4_711);
    const read = dnsPacket.decode(written);
    expect(read).toMatchObject({ id: 4_711, type: 'query', flag_rd: true, flag_ad: true });
    expect(written.readUInt16BE(12 + 'svc.example.test'.length + 2)).toBe(recordTypes.HTTPS);
    expect(read.additionals?.[0]).toMatchObject({ type: 'OPT', udpPayloadSize: 1_232 });
    expect(dnsPacket.decode(writeQuestion(question, false)).additionals).toEqual([]);
  });
});

describe('an answer', () => {
  test('of any bytes at all is read or refused, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(['answer', 'stray', 'malformed', 'oversized']).toContain(readMessage(Buffer.from(bytes), question, plain, 'udp').is);
      }),
      { numRuns: 3_000 },
    );
  });

  const label = fc.stringMatching(/^[a-z0-9]{1,12}$/);
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  const ttl = fc.integer({ min: 0, max: 100_000 });
  const answer = fc.oneof(
    fc.record({ type: fc.constant('A' as const), name, ttl, data: fc.ipV4() }),
    fc.record({ type: fc.constant('CNAME' as const), name, ttl, data: name }),
    fc.record({
      type: fc.constant('MX' as const),
      name,
      ttl,
      data: fc.record({ preference: fc.integer({ min: 0, max: 65_535 }), exchange: name }),
    }),
    fc.record({
      type: fc.constant('SRV' as const),
      name,
      ttl,
      data: fc.record({ priority: fc.nat(65_535), weight: fc.nat(65_535), port: fc.nat(65_535), target: name }),
    }),
    fc.record({
      type: fc.constant('TXT' as const),
      name,
      ttl,
      data: fc.array(fc.stringMatching(/^[ -~]{0,80}$/), { minLength: 1, maxLength: 4 }),
    }),
  );
  const packet = fc.array(answer, { maxLength: 8 }).map((answers) =>
    dnsPacket.encode({
      type: 'response',
      id: 1,
      flags: dnsPacket.RECURSION_AVAILABLE,
      questions: [{ type: 'A', name: question.name }],
      answers,
    }),
  );

  test('written by another codec is read whole, with the same records', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 8 }), (answers) => {
        const bytes = dnsPacket.encode({ type: 'response', id: 1, questions: [{ type: 'A', name: question.name }], answers });
        const reading = readMessage(bytes, question, plain, 'tcp');
        if (reading.is !== 'answer') throw new Error(reading.is);
        expect(reading.message.answers.map((record) => [record.name, record.type, record.ttl])).toEqual(
          answers.map((one) => [one.name, recordTypes[one.type], one.ttl]),
        );
        const texts = answers.map((one) => {
          if (one.type === 'MX') return [String(one.data.preference), one.data.exchange];
          if (one.type === 'SRV') return [one.data.priority, one.data.weight, one.data.port, one.data.target].map(String);
          return [one.type === 'TXT' ? one.data.join('') : one.data];
        });
        expect(reading.message.answers.map(({ fields }) => fields)).toEqual(texts);
      }),
      { numRuns: 500 },
    );
  });

  test('cut anywhere or with one byte changed is read or refused, and nothing is thrown', () => {
    fc.assert(
      fc.property(packet, fc.nat(), fc.nat(), fc.nat(255), (bytes, cut, place, value) => {
        const shorter = bytes.subarray(0, cut % bytes.length);
        expect(readMessage(shorter, question, plain, 'udp').is).not.toBe('answer');
        const changed = Buffer.from(bytes);
        changed[place % changed.length] = value;
        expect(['answer', 'stray', 'malformed', 'oversized']).toContain(readMessage(changed, question, plain, 'udp').is);
      }),
      { numRuns: 2_000 },
    );
  });
});
