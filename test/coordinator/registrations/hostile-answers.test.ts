import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDocumentReader } from '../../../coordinator/outbound/documents.ts';
import { type Asker, createAsker } from '../../../coordinator/registrations/asker.ts';
import { newestRegistries, registriesFrom } from '../../../coordinator/registrations/model.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { type Behaviour, openReceiver, type Receiver, says } from '../../support/receivers.ts';
import { ownDatabase } from '../../support/services.ts';

/** Registries that do as they like, asked over real connections. */

describe('a registry', async () => {
  const { sql } = await ownDatabase();
  const usual = getCACertificates('default');
  const maxBytes = 1_048_576;
  let server: Receiver;
  let inside: Receiver;
  let asker: Asker;
  const reader = createDocumentReader({
    allow: ['127.0.0.0/8'],
    lookup: async () => ['127.0.0.1'],
    maxBytes,
  });

  beforeAll(async () => {
    const authority = mintAuthority('Authority of a test');
    setDefaultCACertificates([...usual, authority.certificate]);
    const tls = mint({ names: ['registry.example', 'inside.example'], issuer: authority });
    [server, inside] = [await openReceiver({ tls }), await openReceiver({ tls })];
    const list = registriesFrom({
      publication: '2126-01-01T00:00:00Z',
      services: [[['com'], [`https://registry.example:${server.port}/`]]],
    });
    asker = createAsker({
      sql,
      clock: systemClock,
      log: createLog({ name: 'test', level: 'silent' }),
      read: reader.read,
      registries: { current: async () => newestRegistries(list) },
      againMs: 0,
    });
  });
  afterAll(async () => {
    setDefaultCACertificates(usual);
    await reader.close();
    await server.close();
    await inside.close();
  });

  const domain = { objectClassName: 'domain' };
  const deep = '['.repeat(maxBytes / 2 - 100) + ']'.repeat(maxBytes / 2 - 100);
  const ends = Array.from({ length: 20_000 }, (_, nth) => ({
    eventAction: 'expiration',
    eventDate: `${2100 + (nth % 7)}`,
  }));
  const raw =
    (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Behaviour =>
    (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/rdap+json', ...headers })
        .end(body);
  const drip: Behaviour = (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 50);
    response.once('close', () => clearInterval(timer));
  };
  const elsewhere = (location: () => string): Behaviour => {
    return (response) => void response.writeHead(302, { location: location() }).end();
  };

  const nothing = 'says nothing of it';
  test.each<[string, Behaviour, string | RegExp]>([
    ['sends more than a megabyte', raw('x'.repeat(2 * maxBytes)), 'larger than 1048576 bytes'],
    ['drips', drip, /abort|timeout/i],
    ['hangs up', (response) => void response.destroy(), /closed|hang up|reset/i],
    [
      'hangs up in the middle',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{');
        setImmediate(() => response.destroy());
      },
      /content-length|closed/i,
    ],
    ['sends headers without end', raw('{}', { 'x-long': 'x'.repeat(20_000) }), /header/i],
    ['leads inside', elsewhere(() => `https://inside.example:${inside.port}/`), 'answered 302'],
    ['leads to metadata', elsewhere(() => 'http://169.254.169.254/'), 'answered 302'],
    ['sends a page', raw('<html>'), nothing],
    ['sends bytes', raw(Buffer.from([0xff, 0xfe, 0x00])), nothing],
    ['sends what it packed', raw(gzipSync('{}'), { 'content-encoding': 'gzip' }), nothing],
    ['nests its answer', raw(deep), nothing],
    ['speaks of another domain', raw(JSON.stringify({ ...domain, ldhName: 'a.com' })), nothing],
    ['sends null', raw('null'), nothing],
    ['refuses', says(404, '<html>'), 'answered 404'],
  ])('that %s gives no answer, and others after it do', async (name, behaviour, why) => {
    const [bad, good] = ['x', 'y'].map((one) => `${one}-${name.replaceAll(' ', '-')}.com`);
    if (bad === undefined || good === undefined) throw new Error('two names');
    server.answer(behaviour);
    const said = await asker.ask(bad, null);
    expect(said).toEqual({ is: 'unknown', why: expect.stringMatching(why) });
    server.answer(says(200, { ...domain, ldhName: good }));
    expect(await asker.ask(good, null)).toMatchObject({ is: 'registered' });
    expect(inside.connections()).toBe(0);
  });

  test.each<[string, Behaviour, number | null]>([
    ['nests what nobody reads', raw(`{"objectClassName":"domain","entities":${deep}}`), null],
    ['gives twenty thousand ends', says(200, { ...domain, events: ends }), Date.UTC(2106)],
    [
      'mistakes every type',
      says(200, { ...domain, status: 5, events: { a: 1 }, entities: 'x', nameservers: [[[]]] }),
      null,
    ],
    [
      'mistakes the types inside',
      says(200, {
        ...domain,
        events: [{ eventAction: 'expiration', eventDate: 'soon' }],
        entities: [null, 5, { roles: 5 }, { roles: ['registrar'], vcardArray: ['vcard', 7] }],
      }),
      null,
    ],
  ])('that %s is read all the same', async (name, behaviour, ends_at) => {
    server.answer(behaviour);
    expect(await asker.ask(`${name.replaceAll(' ', '-')}.com`, null)).toMatchObject({
      is: 'registered',
      ends_at,
      statuses: [],
      registrar: null,
    });
  });
});
