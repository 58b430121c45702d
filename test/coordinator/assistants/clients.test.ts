import { expect, test } from 'vitest';
import {
  challengeOf,
  keepOfClient,
  nameShown,
  redirectFault,
  redirectTargetOf,
  understood,
} from '../../../coordinator/assistants/oauth.ts';

test('the answer goes to a site, to this machine, or to a program that took a scheme for itself', () => {
  expect(redirectTargetOf('https://claude.ai/api/mcp/auth_callback')).toEqual({
    is: 'site',
    host: 'claude.ai',
  });
  expect(redirectTargetOf('https://xn--claue-9ua.example:8443/')).toEqual({
    is: 'site',
    host: 'xn--claue-9ua.example:8443',
  });
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(redirectTargetOf(`http://${host}:33418/callback`)).toEqual({ is: 'machine', host });
  expect(redirectTargetOf('cursor://anysphere.cursor-mcp/oauth/callback')).toEqual({
    is: 'program',
    host: 'cursor',
  });
  const nowhere = [
    'http://192.168.1.7/',
    'http://localhost.evil.example/',
    'https://localhost/',
    'javascript:alert(1)',
    'JaVaScRiPt:x',
    'data:,x',
    'intent://x',
  ];
  for (const each of [
    ...nowhere,
    'https://claude.ai@evil.example/',
    'https://a.example/#x',
    'https://a.example/ü',
    'https://a.example/ x',
    'x',
    '',
    7,
    null,
  ])
    expect([each, redirectTargetOf(each)]).toEqual([each, undefined]);
});

test('a client has some address to return to, and not too many', () => {
  expect(redirectFault(['https://a.example/'])).toBeUndefined();
  for (const each of [
    undefined,
    [],
    'https://a.example/',
    ['http://a.example/'],
    Array.from({ length: 21 }, () => 'https://a.example/'),
  ])
    expect(redirectFault(each)).toMatch(/^redirect_uris must/);
});

test('the name of a client is one line of letters, whatever it sends', () => {
  expect(nameShown('Claude')).toBe('Claude');
  expect(nameShown(' Cla\u0000u\u200bde\n\u202e(your bank)\ud800 ')).toBe('Claude(your bank)');
  expect([...nameShown('🦊'.repeat(200))]).toHaveLength(60);
  for (const each of ['', ' \u200b ', undefined, 7, {}])
    expect(nameShown(each)).toBe('An assistant without a name');
});

test('only id, name and addresses of a client are stored', () => {
  const said = {
    client_id: 'a',
    client_name: 'A\u0000',
    redirect_uris: ['https://a.example/'],
    jwks_uri: 'http://10.0.0.1/',
    scope: 'admin',
    client_secret: 's',
  };
  keepOfClient(said);
  expect(said).toEqual({ client_id: 'a', client_name: 'A', redirect_uris: ['https://a.example/'] });
});

test('requested scopes are reduced to the existing ones', () => {
  const scopeOf = (query: string) => new URLSearchParams(understood(query)).get('scope');
  expect(scopeOf('scope=read')).toBe('read');
  expect(scopeOf('scope=write')).toBe('read write');
  expect(scopeOf('scope=openid+offline_access+admin')).toBe('read write');
  expect(scopeOf('')).toBe('read write');
  const rest = understood(
    'client_id=a&state=%2B%20%26&nonce=n&max_age=1&prompt=login&request=x&resource=https%3A%2F%2Fa%2Fmcp',
  );
  expect([...new URLSearchParams(rest)].toSorted()).toEqual(
    [
      ['client_id', 'a'],
      ['state', '+ &'],
      ['scope', 'read write'],
      ['resource', 'https://a/mcp'],
    ].toSorted(),
  );
  expect(new URLSearchParams(understood('prompt=none')).get('prompt')).toBe('none');
});

test('the challenge says where to sign in and what to ask for, and what was wrong', () => {
  const about =
    'resource_metadata="https://a.example/.well-known/oauth-protected-resource/mcp", scope="read write"';
  expect(challengeOf('https://a.example')).toBe(`Bearer ${about}`);
  expect(challengeOf('https://a.example', 'invalid_token')).toBe(
    `Bearer error="invalid_token", ${about}`,
  );
});
