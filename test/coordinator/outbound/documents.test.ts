import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import dnsPacket from 'dns-packet';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  createDocumentReader,
  createTextRecords,
  type DocumentReader,
} from '../../../coordinator/outbound/documents.ts';
import { forbiddenHosts, zone } from '../../probe/support/laboratory-cases.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { type Resolver, startResolver } from '../../support/name-servers.ts';
import { openReceiver, type Receiver, says } from '../../support/receivers.ts';

/** Documents of strangers, against a real server: what is read, and where nothing ever goes. */
describe('documents', () => {
  const usual = getCACertificates('default');
  let server: Receiver;
  const readers: DocumentReader[] = [];
  const readerOf = (
    addresses: readonly string[],
    allow: readonly string[] = [],
  ): DocumentReader => {
    const reader = createDocumentReader({ allow, lookup: async () => addresses });
    readers.push(reader);
    return reader;
  };

  beforeAll(async () => {
    const authority = mintAuthority('Authority of a test');
    setDefaultCACertificates([...usual, authority.certificate]);
    server = await openReceiver({ tls: mint({ names: ['assistant.example'], issuer: authority }) });
  });
  afterAll(async () => {
    setDefaultCACertificates(usual);
    for (const reader of readers) await reader.close();
    await server.close();
  });

  const url = (name = 'assistant.example', scheme = 'https') =>
    `${scheme}://${name}:${server.port}/client.json?a=b`;

  test('a document is read as it is, and its redirects are not followed', async () => {
    const reader = readerOf(['127.0.0.1'], ['127.0.0.0/8']);
    server.answer(says(200, { client_id: 'x' }, { 'Cache-Control': 'max-age=60' }));
    const read = await reader.read(url());
    expect([read.status, read.headers['cache-control'], Buffer.from(read.body).toString()]).toEqual(
      [200, 'max-age=60', '{"client_id":"x"}'],
    );
    expect(server.got.at(-1)).toMatchObject({
      method: 'GET',
      path: '/client.json?a=b',
      headers: { accept: 'application/json' },
    });
    server.answer(says(302, '', { location: 'https://elsewhere.example/' }));
    expect((await reader.read(url())).status).toBe(302);
    server.answer(says(200, 'x'.repeat(70_000)));
    await expect(reader.read(url())).rejects.toThrow('larger than 65536 bytes');
  });

  test('nothing goes inside, without TLS, or to who is not who it says', async () => {
    const before = server.connections();
    const strict = createDocumentReader();
    readers.push(strict);
    for (const name of forbiddenHosts)
      await expect(strict.read(url(name)), name).rejects.toThrow('nothing is sent');
    for (const [name, [{ A = [], AAAA = [] } = {}]] of Object.entries(zone)) {
      const addresses = [...A, ...AAAA];
      if (/^(a-|aaaa-|mixed)/.test(name))
        await expect(readerOf(addresses).read(url(name)), name).rejects.toThrow('nothing is sent');
    }
    await expect(readerOf(['127.0.0.1']).read(url())).rejects.toThrow('nothing is sent');
    await expect(readerOf(['198.51.100.7', '10.0.0.1']).read(url())).rejects.toThrow(
      'nothing is sent',
    );
    await expect(
      readerOf(['127.0.0.1'], ['127.0.0.0/8']).read(url('assistant.example', 'http')),
    ).rejects.toThrow('over TLS alone');
    expect(server.connections()).toBe(before);
    await expect(
      readerOf(['127.0.0.1'], ['127.0.0.0/8']).read(url('other.example')),
    ).rejects.toThrow();
  });
});

describe('dns text records', () => {
  /** Whoever answers may have to wait for a full machine. */
  const patient = { timeout: 30_000, tries: 3 };

  let resolver: Resolver | undefined;
  afterEach(() => resolver?.close());

  const answering = async (texts: readonly (readonly string[])[]): Promise<string> => {
    resolver = await startResolver(({ query }) => {
      const { id, questions } = dnsPacket.decode(query);
      const name = questions?.[0]?.name ?? '';
      const answers = texts.map((parts) => ({
        type: 'TXT' as const,
        name,
        ttl: 60,
        data: [...parts],
      }));
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
    expect(await createTextRecords([server], patient)('_antipode.status.example')).toEqual([
      'antipode-status-page=abc',
      'v=spf1',
    ]);
  });

  test('a name without a record has no texts', async () => {
    expect(
      await createTextRecords([await answering([])], patient)('_antipode.status.example'),
    ).toEqual([]);
    expect(resolver?.asked()).toBeGreaterThan(0);
  });
});
