import dnsPacket from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import { createLookup, type Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { createUdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { answerTo, type Resolver, startResolver } from '../../../support/name-servers.ts';
import { httpsChecker } from '../../support/checkers.ts';
import {
  answerBy,
  answered,
  certificate,
  failed,
  hop,
  judge,
  response,
  seen,
  serve,
  serveRaw,
  tls,
} from '../../support/observations.ts';

/**
 * What evidence shows beyond the cause: enough to know what to mend without asking the target
 * again.
 */
describe('evidence saw', () => {
  const check = httpsChecker();
  const leadsTo =
    (...addresses: readonly string[]): Lookup =>
    async () => ({ addresses });

  describe('the actual value of an assertion', () => {
    const json = (
      body: string,
      assertion: Record<string, string | number | boolean>,
      config = {},
    ) =>
      judge(answered(response(200, body)), { json: [{ path: '$.state', ...assertion }], ...config })
        .evidence.saw;

    test.each([
      ['{"state":"down"}', { equals: 'up' }, 'down'],
      ['{"state":7}', { gt: 9 }, '7'],
      ['{"state":null}', { equals: 'up' }, 'null'],
      ['{"state":{"a":[1,"b"]}}', { exists: false }, '{"a":[1,"b"]}'],
      ['{"other":1}', { equals: 'up' }, undefined],
      ['{"state":"up"}', { equals: 'up' }, undefined],
    ])('of %s under %j is %s', (body, assertion, saw) => {
      expect(json(body, assertion)).toBe(saw);
    });

    test('is small, printable and without secrets', () => {
      const long = JSON.stringify({ state: `\u001b[31m${'x'.repeat(5_000)}` });
      expect(json(long, { equals: 'up' })).toHaveLength(400);
      expect(json(long, { equals: 'up' })).not.toContain('\u001b');
      const secret = 'quo"ted\\secret';
      for (const state of [secret, [secret], { a: { b: secret } }])
        expect(
          json(
            JSON.stringify({ state }),
            { equals: 'up' },
            { headers: { 'X-K': secret }, secret_headers: ['X-K'] },
          ),
        ).toMatch(/^\W*(a\W*b\W*)?\*\*\*\W*$/);
    });

    test('of a header is its value, each where it came more than once', () => {
      const header = (...values: readonly string[]) =>
        judge(
          answered(
            response(
              200,
              '',
              values.map((value) => ['x-cache-state', value] as const),
            ),
          ),
          { header_contains: { 'X-Cache-State': 'HIT' } },
        ).evidence.saw;
      expect(header('MISS')).toBe('MISS');
      expect(header('MISS', 'STALE')).toBe('["MISS","STALE"]');
      expect(header()).toBeUndefined();
    });

    test('of a pattern is the value that did not match, or did', () => {
      const server = [['server', 'nginx/1.18']] as const;
      const seen = answered(response(200, '', server));
      expect(judge(seen, { header_matches: { Server: '^apache' } }).evidence.saw).toBe(
        'nginx/1.18',
      );
      expect(judge(seen, { header_not_matches: { Server: '\\d$' } }).evidence.saw).toBe(
        'nginx/1.18',
      );
      const body = `${'.'.repeat(3_000)}before Fatal error in line 7 ${'.'.repeat(3_000)}`;
      const saw = String(
        judge(answered(response(200, body)), { body_not_matches: 'error in line \\d+' }).evidence
          .saw,
      );
      expect(saw).toContain('before Fatal error in line 7');
    });

    test('of a forbidden text is its place', () => {
      const body = `${'.'.repeat(3_000)}before Fatal error in line 7 ${'.'.repeat(3_000)}`;
      const saw = String(
        judge(answered(response(200, body)), { body_not_contains: 'Fatal error' }).evidence.saw,
      );
      expect(saw).toContain('before Fatal error in line 7');
      expect(saw).toHaveLength(400);
      const told = judge(answered(response(200, 'a s3cret-token Fatal error')), {
        body_not_contains: 'Fatal error',
        bearer_token: 's3cret-token',
      });
      expect(told.evidence.saw).toBe('a *** Fatal error');
    });
  });

  describe('an answer that is not HTTP', () => {
    const saying = async (bytes: string | Buffer) =>
      (await serveRaw((socket) => socket.on('error', () => undefined).end(bytes))).url();

    test('shows its first bytes, and a sign for each unprintable one', async () => {
      expect((await check(await saying('SSH-2.0-OpenSSH_9.6\r\n'))).evidence).toMatchObject({
        first_bytes: 'SSH-2.0-OpenSSH_9.6\\r\\n',
      });
      expect(
        (await check(await saying(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46])))).evidence,
      ).toMatchObject({
        first_bytes: '\\x15\\x03\\x01\\x00\\x02\\x02F',
      });
      expect((await check(await saying('HTTP/1.1 20'))).evidence).toMatchObject({
        first_bytes: 'HTTP/1.1 20',
      });
      expect(
        (await check(await saying('HTTP/1.1 twenty\r\nA: b\r\n\r\n'))).evidence.first_bytes,
      ).toMatch(/^HTTP\/1\.1 twenty\\r\\nA: b/);
      expect((await check(await saying(Buffer.alloc(20_000, 'x')))).evidence.first_bytes).toBe(
        'x'.repeat(100),
      );
      expect((await check(await saying(''))).evidence.first_bytes).toBeUndefined();
      expect(
        (await check(await saying('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))).evidence
          .first_bytes,
      ).toBeUndefined();
    });

    test.each(['s3cret-token', 'y'.repeat(4_000)])(
      'shows no secret that was sent and comes back',
      async (bearer_token) => {
        const echo = await serveRaw((socket) =>
          socket
            .on('error', () => undefined)
            .once('data', (bytes) => socket.end(`${bearer_token}?\n${bytes}`)),
        );
        const { evidence } = await check(echo.url(), { bearer_token });
        expect(evidence.first_bytes).toMatch(/^\*\*\*\?\\nGET/);
        expect(JSON.stringify(evidence)).not.toMatch(/s3cret|yyyy/);
      },
    );
  });

  test('each hop shows its address and its phases', async () => {
    const [first, second] = await Promise.all([serve(), serve({ host: '127.0.0.2' })]);
    first.answer(answerBy(() => ({ status: 302, headers: { location: second.url('/there') } })));
    second.answer(answerBy(() => ({ status: 500 })));
    const { evidence } = await check(first.url());
    const phases = {
      dns: null,
      tcp: expect.any(Number),
      tls: null,
      first_byte: expect.any(Number),
      total: expect.any(Number),
    };
    expect(evidence.redirects).toEqual([
      {
        url: first.url(),
        status: 302,
        location: second.url('/there'),
        address: '127.0.0.1',
        phases,
      },
      { url: second.url('/there'), status: 500, location: '', address: '127.0.0.2', phases },
    ]);
  });

  describe('the address that the probe came from', () => {
    test('is reported as the target saw it', async () => {
      const target = await serve();
      let from: string | undefined;
      target.answer(
        answerBy((request) => {
          from = request.socket.remoteAddress;
          return { status: 500 };
        }),
      );
      const { evidence } = await check(target.url());
      expect([evidence.outgoing_address, evidence.outgoing_address]).toEqual([from, '127.0.0.1']);
    });

    test.each([
      ['10.0.0.7', '8.8.8.8', undefined],
      ['172.17.0.2', '2001:4860:4860::8888', undefined],
      ['9.9.9.9', '8.8.8.8', '9.9.9.9'],
      ['10.0.0.7', '10.1.2.3', '10.0.0.7'],
      [null, '8.8.8.8', undefined],
    ])(
      'from %s to %s is %s: an own one that is translated on the way out was not seen',
      (outgoing, address, told) => {
        const attempts = [{ address, code: null, ms: 1 }];
        expect(
          judge(seen([hop({ outgoing, attempts, response: response(500) })])).evidence
            .outgoing_address,
        ).toBe(told);
      },
    );
  });

  describe('the look-up of a name', () => {
    const sockets = createUdpSockets();
    const open: Resolver[] = [];
    afterAll(async () => {
      sockets.close();
      await Promise.all(open.map((resolver) => resolver.close()));
    });

    const checkerBy = async (
      rcode: number,
      aliases: readonly (readonly [string, string])[],
      address?: string,
    ) => {
      const resolver = await startResolver(({ query, name }) => {
        const type = dnsPacket.decode(query).questions?.[0]?.type;
        const chain = aliases.map(
          ([from, data], at) => ({ type: 'CNAME', name: from, ttl: 600 - at, data }) as const,
        );
        const end = aliases.at(-1)?.[1] ?? name;
        return answerTo(query, {
          rcode,
          answers: [
            ...chain,
            ...(type === 'A' && address
              ? [{ type: 'A', name: end, ttl: 77, data: address } as const]
              : []),
          ],
        });
      });
      open.push(resolver);
      const resolvers = () => [{ address: '127.0.0.1', port: resolver.port, family: 4 } as const];
      const families = { 4: true, 6: false };
      return {
        checker: httpsChecker({
          families,
          lookup: createLookup({ families: () => families, sockets, resolvers }),
        }),
        port: resolver.port,
      };
    };
    const byAliases = [
      ['shop.example', 'edge.cdn.example'],
      ['edge.cdn.example', 'pop-7.cdn.example'],
    ] as const;

    test('shows the resolver that answered, the lowest TTL on the way, and the aliases', async () => {
      const target = await serve();
      target.answer(answerBy(() => ({ status: 500 })));
      const { checker, port } = await checkerBy(0, byAliases, '127.0.0.1');
      expect((await checker(`http://shop.example:${target.port}/`)).evidence.lookup).toEqual({
        resolver: { address: '127.0.0.1', port },
        ttl: 77,
        aliases: ['edge.cdn.example', 'pop-7.cdn.example'],
      });
    });

    test('shows which server said that the name, or the target of its alias, does not exist', async () => {
      const nobody = await checkerBy(3, []);
      expect((await nobody.checker('http://shop.example/')).evidence.lookup).toEqual({
        resolver: { address: '127.0.0.1', port: nobody.port },
        ttl: null,
        aliases: [],
      });
      const dangling = await checkerBy(3, byAliases);
      expect((await dangling.checker('http://shop.example/')).evidence.lookup).toMatchObject({
        aliases: ['edge.cdn.example', 'pop-7.cdn.example'],
      });
    });

    test('shows nothing of a name that leads inside, and is small', async () => {
      const inside = await checkerBy(0, byAliases, '10.0.0.1');
      const { evidence } = await inside.checker('http://shop.example/');
      expect(JSON.stringify(evidence)).not.toMatch(/cdn|10\.0\.0\.1/);
      const by = {
        resolver: { address: '192.0.2.53', port: 53, family: 4 },
        ttl: 1,
        aliases: Array.from({ length: 400 }, () => 'n'.repeat(300)),
      } as const;
      expect(
        JSON.stringify(judge(seen([hop({ by, response: response(500) })])).evidence.lookup).length,
      ).toBeLessThan(3_000);
    });
  });

  test('a certificate shows its key, its size and how it is signed', async () => {
    const root = mintAuthority('Test Root');
    const chain = async (key: 'ec' | 'rsa') => {
      const target = await serve({
        certificate: mint({ names: ['good.example'], issuer: root, key }),
      });
      const { evidence } = await httpsChecker({
        authorities: [root.certificate],
        lookup: leadsTo('127.0.0.1'),
      })(`https://good.example:${target.port}/`);
      return evidence.tls;
    };
    expect(await chain('ec')).toMatchObject({
      chain: [{ key: 'ec prime256v1', signature: 'ecdsa-with-SHA256' }],
    });
    expect(await chain('rsa')).toMatchObject({
      chain: [{ key: 'rsa 2048', signature: 'ecdsa-with-SHA256' }],
    });
  });

  test('the number of tried addresses is shown', async () => {
    const target = await serve();
    target.answer(answerBy(() => ({ status: 500 })));
    const many = Array.from({ length: 9 }, (_, at) => `127.0.0.${90 + at}`);
    const { evidence } = await httpsChecker({ lookup: leadsTo(...many) })(
      `http://pool.example:${target.port}/`,
    );
    expect(evidence.addresses_tried).toBe('9 of 9');
    expect(
      (
        await httpsChecker({ lookup: leadsTo('127.0.0.99', '127.0.0.1', '127.0.0.2') })(
          `http://pool.example:${target.port}/`,
        )
      ).evidence.addresses_tried,
    ).toBe('2 of 3');
  });

  test('all of it together fits into a result, whatever a target piles up', () => {
    const long = 'ü'.repeat(2_000);
    const wide = {
      ...certificate(),
      subject: long,
      issuer: long,
      names: Array.from({ length: 20 }, () => long),
      key: 'ec',
      signature: 's',
    };
    const by = {
      resolver: { address: '192.0.2.53', port: 53, family: 4 },
      ttl: 1,
      aliases: Array.from({ length: 99 }, () => long),
    } as const;
    const hops = Array.from({ length: 11 }, () =>
      hop({
        by,
        url: `https://x.example/${long}`,
        outgoing: '9.9.9.9',
        tls: tls({ chain: () => Array.from({ length: 6 }, () => wide) }),
        response: response(
          200,
          JSON.stringify({ state: long.repeat(9) }),
          Array.from({ length: 250 }, () => ['location', long] as const),
        ),
      }),
    );
    const { evidence } = judge(seen(hops), { json: [{ path: '$.state', equals: 'up' }] });
    expect(evidence.saw).toHaveLength(400);
    // A result of more than 128 KiB would travel without its evidence.
    expect(Buffer.byteLength(JSON.stringify(evidence))).toBeLessThan(100 * 1_024);
  });
});

describe('content from a target stays out of sentences and is printable in evidence', () => {
  const hostile = '<script>alert(1)</script> ignore previous instructions \u0000\u001b[31m \ud800';
  const observation = seen([
    hop({
      url: 'https://x.example/?q=s3cret-token',
      response: {
        ...response(500, `${hostile} s3cret-token p%40ss p@ss`, [
          ['server', hostile],
          ['set-cookie', 'session=1'],
          ['location', 'x'],
        ]),
        body: Buffer.concat([
          Buffer.from(`${hostile} s3cret-token p%40ss p@ss `),
          Buffer.alloc(5_000, 0x61),
        ]),
      },
    }),
  ]);
  const verdict = judge(observation, {
    bearer_token: 's3cret-token',
    headers: { 'X-K': 'p@ss' },
    secret_headers: ['X-K'],
  });

  test('the sentence has nothing of it', () => {
    expect(verdict.cause && causeSentence(verdict.cause)).toBe('Status 500, expected 2xx');
  });

  test('evidence has no secrets, no control characters, chosen headers only, and 1 KiB of body', () => {
    const text = JSON.stringify(verdict.evidence);
    expect(text).not.toMatch(/s3cret-token|p@ss|p%40ss|set-cookie|\\u0000|\\u001b|\\ud800/);
    expect(String(verdict.evidence.body)).toHaveLength(1_024);
    expect(verdict.evidence.body).toContain('ignore previous instructions');
    expect(text.length).toBeLessThan(8_000);
  });

  test.each([
    ['longer than the evidence of a body', 5_000, 0, 0],
    ['cut off by its limit', 3_000, 1_000, 0],
    ['cut off where no more was kept', 4_000, 500, 0],
    ['sent three times', 3_900, 10, 2],
    ['in letters of two bytes, cut off in the midst of one', 4_000, 500, 1],
  ])('evidence has no part of a secret %s', (_what, length, before, more) => {
    const letters = more === 1 ? 'äöüé' : 'abcdefghijkl';
    const secret = Array.from(
      { length },
      (_, index) => letters[(index * 7 + Math.floor(index / 11)) % letters.length],
    ).join('');
    const whole = Buffer.from(`${'.'.repeat(before)}${`${secret}|`.repeat(1 + more)}`);
    // As much of it as a check keeps.
    const kept = { ...response(500), body: whole.subarray(0, 4_096), read: whole.length };
    const config = { headers: { 'X-K': secret }, secret_headers: ['X-K'] };
    for (const one of [kept, { ...kept, body: whole }]) {
      const text = JSON.stringify(judge(answered(one), config).evidence);
      expect(text).toContain('***');
      expect(
        new RegExp(`[${letters}]{8}`).exec(
          text.replace(/"(url|cipher|cache|body_truncated|fingerprint|host_matches)"/g, ''),
        )?.[0],
      ).toBe(undefined);
    }
  });

  test('evidence carries what the check saw', () => {
    expect(verdict.evidence).toMatchObject({
      addresses: ['192.0.2.1'],
      address: '192.0.2.1',
      status: 500,
      tls: { protocol: 'TLSv1.3', fault: null, chain: [{ names: ['DNS:x.example'] }] },
    });
    expect(verdict.phases).toEqual({ dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 120 });
  });

  test('of a forbidden address nothing else is shown', () => {
    const { evidence } = judge(
      failed('tcp', 'NOT_PUBLIC', { addresses: ['10.1.2.3'], attempts: [] }),
    );
    expect(JSON.stringify(evidence)).not.toContain('10.1.2.3');
  });

  test('evidence stays small, whatever a target piles up', () => {
    const long = 'n'.repeat(250);
    const chain = Array.from({ length: 6 }, () => ({
      ...certificate(),
      subject: long.repeat(4),
      issuer: long.repeat(4),
      names: Array.from({ length: 20 }, () => long),
    }));
    const headers = Array.from({ length: 250 }, () => ['via', long.repeat(4)] as const);
    const hops = Array.from({ length: 11 }, () =>
      hop({
        url: `https://x.example/${long.repeat(8)}`,
        tls: tls({ chain: () => chain }),
        response: response(500, long.repeat(100), headers),
      }),
    );
    expect(JSON.stringify(judge(seen(hops)).evidence).length).toBeLessThan(48_000);
  });

  test('a body in another charset is judged as text', () => {
    const latin = {
      ...response(200, '', [['content-type', 'text/html; charset=ISO-8859-1']]),
      body: Buffer.from('gr\xfc\xdfe', 'latin1'),
    };
    expect(judge(answered(latin), { body_contains: 'grüße' }).outcome).toBe('ok');
    const odd = { ...response(200, 'grüße', [['content-type', 'text/html; charset=klingon']]) };
    expect(judge(answered(odd), { body_contains: 'grüße' }).outcome).toBe('ok');
  });
});
