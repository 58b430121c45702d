import dnsPacket from 'dns-packet';
import { afterEach, expect, test } from 'vitest';
import { createTextRecords } from '../../../coordinator/outbound/documents.ts';
import { type Resolver, startResolver } from '../../support/name-servers.ts';

/** Whoever answers may have to wait for a full machine. */
const patient = { timeout: 30_000, tries: 3 };

let resolver: Resolver | undefined;
afterEach(() => resolver?.close());

const answering = async (texts: readonly (readonly string[])[]): Promise<string> => {
  resolver = await startResolver(({ query }) => {
    const { id, questions } = dnsPacket.decode(query);
    const name = questions?.[0]?.name ?? '';
    const answers = texts.map((parts) => ({ type: 'TXT' as const, name, ttl: 60, data: [...parts] }));
    return dnsPacket.encode({
      type: 'response',
      ...(id === undefined ? {} : { id }),
      flags: dnsPacket.RECURSION_AVAILABLE,
      questions: questions ?? [],
      answers,
    });
  });
  return `127.0.0.1:${resolver.port}`;
};

test('the texts of a name are read from the servers that were set, with their parts put together', async () => {
  const server = await answering([['antipode-status-', 'page=abc'], ['v=spf1']]);
  expect(await createTextRecords([server], patient)('_antipode.status.example')).toEqual(['antipode-status-page=abc', 'v=spf1']);
});

test('a name without a record has no texts', async () => {
  expect(await createTextRecords([await answering([])], patient)('_antipode.status.example')).toEqual([]);
  expect(resolver?.asked()).toBeGreaterThan(0);
});
