import { describe, expect, test } from 'vitest';
import { createOwnPlaces, type Lookup } from '../../../coordinator/outbound/connection.ts';
import { createDocumentReader } from '../../../coordinator/outbound/documents.ts';
import { parseAddress } from '../../../shared/base/network.ts';

/** Nothing that we send reaches a service of our own, though its address is public. */

const names: Readonly<Record<string, readonly string[]>> = {
  'own.example': ['93.184.215.2'],
  'bus.example': ['93.184.215.3'],
  'database.example': ['93.184.215.4', '2606:2800:220::4'],
  'status.example': ['93.184.215.5'],
};
const lookup: Lookup = async (name) => {
  const found = names[name];
  if (found === undefined) throw new Error(`no server answers for ${name}`);
  return found;
};
const places = (servers: readonly string[] = [], baseUrl = 'https://status.example') =>
  createOwnPlaces({
    servers,
    baseUrl: () => baseUrl,
    own: () => ['127.0.0.1', '10.0.0.7', '93.184.215.2', '2606:2800:220::2'],
  });
const servers = [
  'tls://bus.example:4222,nats://user:pass@93.184.215.9',
  'postgres://u:p@database.example:5432,[2606:2800:220::9]:5433/db?sslmode=require',
];

describe('a place of our own', () => {
  test.each([
    ['93.184.215.2', 443, true],
    ['::ffff:93.184.215.2', 2375, true],
    ['2606:2800:220::2', 443, true],
    ['93.184.215.3', 4222, true],
    ['93.184.215.3', 8222, true],
    ['93.184.215.9', 443, true],
    ['93.184.215.4', 5432, true],
    ['2606:2800:220:0::4', 5432, true],
    ['2606:2800:220::9', 443, true],
    // What the base URL serves is open to everybody; what listens beside it is not.
    ['93.184.215.5', 9464, true],
    ['93.184.215.5', 443, false],
    ['93.184.215.6', 443, false],
    // The rules of all addresses judge these.
    ['10.0.0.7', 443, false],
  ])('%s at %d: %s', async (text, port, expected) => {
    const isOwn = await places(servers)(lookup);
    const address = parseAddress(text);
    expect(address && isOwn(address, port)).toBe(expected);
  });

  test('is closed also while one of the names has no answer', async () => {
    const isOwn = await places(['nats://gone.example', 'nats://bus.example'])(lookup);
    const address = parseAddress('93.184.215.3');
    expect(address && isOwn(address, 443)).toBe(true);
  });

  test('is refused by the connector, whatever name leads there', async () => {
    const reader = createDocumentReader({ lookup, ownPlaces: places(servers) });
    for (const host of ['own.example', '93.184.215.2', '[2606:2800:220::2]', 'bus.example'])
      await expect(reader.read(`https://${host}/x`), host).rejects.toThrow('nothing is sent');
    await reader.close();
  });

  test('opens where the host names that one address', async () => {
    const own = createOwnPlaces({ servers: ['nats://127.0.0.1:4222'], own: () => [] });
    const read = async (allow: readonly string[]) => {
      const reader = createDocumentReader({ allow, ownPlaces: own });
      const error = await reader.read('https://127.0.0.1:1/').catch((each: unknown) => each);
      await reader.close();
      return error instanceof Error ? error.name : undefined;
    };
    expect(await read(['127.0.0.0/8'])).toBe('BlockedAddress');
    expect(await read(['127.0.0.1'])).not.toBe('BlockedAddress');
  });
});
