import Fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { refuseOutside } from '../../../coordinator/api/routes.ts';
import { publicListRoutes, publicListsOf } from '../../../coordinator/probes/public-list.ts';
import type { ProbeRow } from '../../../coordinator/probes/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import {
  createRequestKey,
  proveForDirectory,
  requestKeyFrom,
  thumbprintOf,
} from '../../../shared/base/http-signatures.ts';
import { testLog } from '../../support/network.ts';
import { probeRow } from '../../support/probe-rows.ts';
import { verifiedDirectory } from '../../support/signatures.ts';

const baseUrl = 'https://antipode.example';
const directoryUrl = `${baseUrl}/.well-known/http-message-signatures-directory`;
const at = 1_800_000_000_000;
const seconds = at / 1_000;
const frankfurt = createRequestKey();
const osaka = createRequestKey();

const probe = (name: string, more: Partial<ProbeRow> = {}) => probeRow(name, at, more);

const proof = (key = frankfurt, authority = 'antipode.example', created = seconds) =>
  proveForDirectory(key, authority, created);

const network = [
  probe('Osaka', {
    continent: 'Asia',
    request_key: proof(osaka),
    addresses: ['2001:4860::7', '198.41.0.4'],
  }),
  probe('Frankfurt', { request_key: proof(), addresses: ['199.9.14.201'] }),
];

describe('the lists of public probes', () => {
  test('have places, names, addresses and keys, always in the same order', () => {
    const { json, text } = publicListsOf(network, baseUrl, at);
    expect(JSON.parse(json.body)).toEqual({
      key_directory: directoryUrl,
      probes: [
        {
          name: 'Frankfurt',
          continent: 'Europe',
          addresses: ['199.9.14.201'],
          key_id: frankfurt.id,
        },
        {
          name: 'Osaka',
          continent: 'Asia',
          addresses: ['2001:4860::7', '198.41.0.4'],
          key_id: osaka.id,
        },
      ],
    });
    expect(text.body).toBe('198.41.0.4\n199.9.14.201\n2001:4860::7\n');
    expect(publicListsOf(network.toReversed(), baseUrl, at)).toEqual(
      publicListsOf(network, baseUrl, at),
    );
  });

  test.each<[string, Partial<ProbeRow>]>([
    ['a private probe', { organisation_id: newId() }],
    ['a revoked one', { revoked_at: at }],
    ['one that was never heard', { last_seen_at: null }],
  ])('have nothing of %s', (_, more) => {
    const hidden = probe('Hidden', { ...more, request_key: proof(), addresses: ['192.33.4.12'] });
    const lists = publicListsOf([hidden], baseUrl, at);
    expect(JSON.parse(lists.json.body)).toMatchObject({ probes: [] });
    expect(lists.text.body).toBe('');
    expect(lists.directory).toMatchObject({ body: '{"keys":[]}\n', headers: {} });
  });
});

describe('the directory of keys', () => {
  test('is signed by each of its keys, as an implementation that is not ours verifies', async () => {
    const { body, headers } = publicListsOf(network, baseUrl, at).directory;
    const { keys } = JSON.parse(body);
    expect(keys).toEqual(
      [frankfurt, osaka].map(({ id, x }) => ({
        kty: 'OKP',
        crv: 'Ed25519',
        kid: id,
        x,
        use: 'sig',
      })),
    );
    const sent = new Headers(headers);
    for (const [label, { id, x }] of Object.entries({ sig1: frankfurt, sig2: osaka }))
      expect(await verifiedDirectory(sent, directoryUrl, { x, label }, at)).toMatchObject({
        keyid: id,
        tag: 'http-message-signatures-directory',
      });
    const mirror = directoryUrl.replace('antipode', 'mirror');
    await expect(
      verifiedDirectory(sent, mirror, { x: frankfurt.x, label: 'sig1' }, at),
    ).rejects.toThrow();
  });

  test.each([
    ['for another authority', proof(frankfurt, 'other.example'), at],
    ['that has run out', proof(), at + 8 * 86_400_000],
    ['by another key', { ...proof(osaka), x: frankfurt.x }, at],
  ])('has no key with a proof %s', (_, request_key, now) => {
    const lists = publicListsOf([probe('Frankfurt', { request_key })], baseUrl, now);
    expect(lists.directory.body).toBe('{"keys":[]}\n');
    expect(JSON.parse(lists.json.body)).toMatchObject({ probes: [{ key_id: null }] });
  });
});

describe('their routes', () => {
  const start = (probes: () => readonly ProbeRow[] | undefined) => {
    const web = Fastify();
    let left = 5;
    const count = () => ({ allowed: left-- > 0, remaining: Math.max(0, left), reset: 7 });
    refuseOutside(web, testLog());
    publicListRoutes(web, {
      baseUrl: () => baseUrl,
      clock: { now: () => at },
      probes,
      limiter: { count, look: count },
    });
    return web;
  };

  test('answer with a tag, and 304 to who has it', async () => {
    const web = start(() => network);
    const first = await web.inject('/probes.json');
    expect(first.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
    });
    const { etag } = first.headers;
    const again = await web.inject({
      url: '/probes.json',
      headers: { 'if-none-match': `W/${etag}` },
    });
    expect(again).toMatchObject({ statusCode: 304, body: '' });
    expect(again.headers.etag).toBe(etag);
    const head = await web.inject({ method: 'HEAD', url: '/probes.txt' });
    expect(head).toMatchObject({ statusCode: 200, body: '' });
    const directory = await web.inject('/.well-known/http-message-signatures-directory');
    expect(directory.headers['content-type']).toBe(
      'application/http-message-signatures-directory+json',
    );
    expect(directory.headers.signature).toMatch(/^sig1=:[\w+/]{86}==:, sig2=:[\w+/]{86}==:$/);
  });

  test('follow the probes, and count against the rate of an address', async () => {
    let rows: readonly ProbeRow[] | undefined;
    const web = start(() => rows);
    expect(await web.inject('/probes.txt')).toMatchObject({ statusCode: 503 });
    rows = network;
    const { etag } = (await web.inject('/probes.txt')).headers;
    rows = network.slice(1);
    const fewer = await web.inject('/probes.txt');
    expect(fewer.body).toBe('199.9.14.201\n');
    expect(fewer.headers.etag).not.toBe(etag);
    await web.inject('/probes.txt');
    await web.inject('/probes.txt');
    const refused = await web.inject('/probes.txt');
    expect(refused).toMatchObject({ statusCode: 429 });
    expect(refused.headers['retry-after']).toBe('7');
  });
});

test('a key is restored from its secret, and its thumbprint is that of RFC 8037', () => {
  expect(requestKeyFrom(frankfurt.secret)).toMatchObject({ id: frankfurt.id, x: frankfurt.x });
  expect(thumbprintOf('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo')).toBe(
    'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  );
});
