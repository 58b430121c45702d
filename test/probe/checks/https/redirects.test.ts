import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import type { Answer } from '../../../support/targets.ts';
import { httpsChecker } from '../../support/checkers.ts';
import { answerBy, serve, serveRaw } from '../../support/observations.ts';

const check = httpsChecker();

describe('redirects', () => {
  const way = (steps: Readonly<Record<string, string>>, status = 302): Answer =>
    answerBy((request) => {
      const to = steps[request.url ?? ''];
      return to === undefined ? { body: 'arrived' } : { status, headers: { location: to } };
    });

  test('are followed hop by hop, each with a connection of its own, and kept as evidence', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b', '/b': 'c?d=1#e' }));
    expect(await check(target.url('/a'), { body_contains: 'arrived' })).toMatchObject({
      outcome: 'ok',
      evidence: {
        redirects: [
          { url: target.url('/a'), status: 302, location: '/b' },
          { url: target.url('/b') },
          { url: target.url('/c?d=1'), status: 200 },
        ],
      },
    });
    expect(target.connections()).toBe(3);
  });

  test('are not followed where the config says so', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b' }));
    expect(await check(target.url('/a'), { follow_redirects: false })).toMatchObject({
      outcome: 'fail',
      sentence: 'Status 302, expected 2xx',
    });
    expect(
      await check(target.url('/a'), { follow_redirects: false, expected_status: [302] }),
    ).toMatchObject({ outcome: 'ok' });
    expect(target.hits.map(({ url }) => url)).toEqual(['/a', '/a']);
  });

  test('end at their limit', async () => {
    const target = await serve();
    target.answer(
      answerBy((request) => ({
        status: 302,
        headers: { location: `/${Number(request.url?.slice(1)) + 1}` },
      })),
    );
    expect(await check(target.url('/0'), { max_redirects: 3 })).toMatchObject({
      outcome: 'fail',
      sentence: 'More than 3 redirects',
    });
    expect(target.hits).toHaveLength(4);
  });

  test('in a circle are reported', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b', '/b': '/a' }));
    expect(await check(target.url('/a'))).toMatchObject({
      outcome: 'fail',
      sentence: 'Redirects lead in a circle',
    });
    expect(target.hits).toHaveLength(2);
  });

  test.each([
    ['ftp://example.com/', 'Redirect to something that is no http or https address'],
    ['javascript:alert(1)', 'Redirect to something that is no http or https address'],
    ['file:///etc/passwd', 'Redirect to something that is no http or https address'],
    ['http://:80', 'Redirect to something that is no http or https address'],
    ['', 'Status 302 without an address to go to'],
  ])('to %j go nowhere', async (location, sentence) => {
    const target = await serve();
    target.answer(way({ '/a': location }));
    expect(await check(target.url('/a'))).toMatchObject({ outcome: 'fail', sentence });
  });

  test.each([
    [301, 'POST', 'GET /b '],
    [302, 'POST', 'GET /b '],
    [303, 'PUT', 'GET /b '],
    [307, 'POST', 'POST /b body'],
    [308, 'PUT', 'PUT /b body'],
    [302, 'PUT', 'PUT /b body'],
  ])('with status %i turn %s into %s', async (status, method, expected) => {
    const target = await serve();
    const seen: string[] = [];
    target.answer({
      is: 'by',
      answer: (request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (part: string) => {
          body += part;
        });
        request.on('end', () => {
          seen.push(`${request.method} ${request.url} ${body}`);
          if (request.url === '/a') response.writeHead(status, { location: '/b' }).end();
          else response.end();
        });
      },
    });
    expect(await check(target.url('/a'), { method, body: 'body' })).toMatchObject({
      outcome: 'ok',
    });
    expect(seen.at(-1)).toBe(expected);
  });

  test('take no credentials and no own headers to another origin, nor back again', async () => {
    const [home, away] = await Promise.all([serve(), serve()]);
    const sent: { at: string; headers: IncomingMessage['headers'] }[] = [];
    const noting = (at: string, steps: Readonly<Record<string, string>>): Answer =>
      answerBy((request) => {
        sent.push({ at: `${at}${request.url}`, headers: request.headers });
        const to = steps[request.url ?? ''];
        return to === undefined ? {} : { status: 302, headers: { location: to } };
      });
    home.answer(noting('home', { '/1': '/2', '/2': away.url('/3'), '/4': '/5' }));
    away.answer(noting('away', { '/3': home.url('/4') }));
    const config = {
      bearer_token: 'b3arer',
      headers: {
        'X-Api-Key': 'k3y',
        Cookie: 'c',
        Host: 'virtual.example',
        'Accept-Language': 'de',
      },
      secret_headers: ['X-Api-Key'],
    };
    expect(await check(home.url('/1'), config)).toMatchObject({ outcome: 'ok' });
    expect(sent.map(({ at }) => at)).toEqual(['home/1', 'home/2', 'away/3', 'home/4', 'home/5']);
    for (const { at, headers } of sent) {
      const trusted = at === 'home/1' || at === 'home/2';
      expect(headers.authorization, at).toBe(trusted ? 'Bearer b3arer' : undefined);
      expect(headers['x-api-key'], at).toBe(trusted ? 'k3y' : undefined);
      expect(headers.cookie, at).toBe(trusted ? 'c' : undefined);
      expect(headers.host === 'virtual.example', at).toBe(trusted);
      expect(headers['accept-language'], at).toBe('de');
    }
  });

  test('are not read beyond their head', async () => {
    const end = await serve();
    const endless = await serveRaw((socket) =>
      socket.once('data', () =>
        socket.write(
          `HTTP/1.1 302 Found\r\nLocation: ${end.url('/')}\r\nContent-Length: 9999\r\n\r\n...`,
        ),
      ),
    );
    expect(await check(endless.url())).toMatchObject({ outcome: 'ok' });
  });
});

test('credentials do not leave with a certificate that is not right, and redirects are judged by each certificate', async () => {
  const root = mintAuthority('Root');
  const good = await serve({ certificate: mint({ names: ['127.0.0.1'], issuer: root }) });
  const bad = await serve({ certificate: mint({ names: ['127.0.0.1'] }) });
  const checker = httpsChecker({ authorities: [root.certificate] });
  good.answer(answerBy(() => ({ status: 301, headers: { location: bad.url('/') } })));
  expect(await checker(good.url('/'))).toMatchObject({
    outcome: 'fail',
    cause: { class: 'certificate_self_signed' },
    evidence: { redirects: [{ status: 301 }, { status: null }] },
  });
  expect(bad.hits).toEqual([]);
});
