import { createServer } from 'node:https';
import { Provider } from 'oidc-provider';
import { Agent, request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  finishProviderSignIn,
} from '../../../coordinator/providers/contract.ts';
import { createProviderWatch } from '../../../coordinator/providers/removal.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { client, openProviderPlace } from '../../support/sign-in-providers.ts';

/** A whole provider, which is well, and a browser that goes through its pages. */

const place = openProviderPlace(['login.example']);
const server = createServer({ cert: place.tls.certificate, key: place.tls.key });
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const at = server.address();
const issuer = `https://login.example:${typeof at === 'object' && at ? at.port : 0}`;
const groups = new Map([['ada', ['people', 'admins']]]);
const library = new Provider(issuer, {
  clients: [
    {
      ...client,
      redirect_uris: ['https://antipode.test/sign-in/provider/installation/answer'],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  claims: { email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
  scopes: ['openid', 'email', 'profile', 'groups'],
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  findAccount: (_context, sub) => {
    const theirs = groups.get(sub);
    return theirs === undefined
      ? undefined
      : {
          accountId: sub,
          claims: () => ({
            sub,
            name: 'Ada',
            email: `${sub}@corp.example`,
            email_verified: true,
            groups: theirs,
          }),
        };
  },
});
server.on('request', library.callback());

const part = place.part(issuer);
const bench = gateBench(undefined, undefined, undefined, () => part);
const door = signUpPolicyOf(bench);
const browser = new Agent({
  connect: {
    lookup: (_host, { all }, done) =>
      all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  },
});

afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await place.close();
});

/** Signs in at the provider's own pages, and agrees. Returns the address to which it sends back. */
const throughPages = async (from: string, login: string): Promise<URL> => {
  const cookies = new Map<string, string>();
  let next = { address: new URL(from), form: '' };
  for (let step = 0; step < 12; step += 1) {
    const { address, form } = next;
    const answer = await request(address, {
      dispatcher: browser,
      method: form === '' ? 'GET' : 'POST',
      body: form === '' ? null : form,
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    for (const one of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const html = await answer.body.text();
    const to = answer.headers.location;
    if (typeof to === 'string') {
      const address = new URL(to, next.address);
      if (address.host === 'antipode.test') return address;
      next = { address, form: '' };
    } else {
      const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1];
      if (prompt === undefined)
        throw new Error(`the provider answered ${answer.statusCode} ${html}`);
      next = { address, form: String(new URLSearchParams({ prompt, login, password: 'any' })) };
    }
  }
  throw new Error('the provider sends around in circles');
};

test('a provider of the library lets in, gives roles, and takes all away a minute after a removal', async () => {
  await createTestOrganisation(bench.sql, { name: 'Shop' });
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: 'installation' });
  const back = await throughPages(address, 'ada');
  expect(back.searchParams.get('iss')).toBe(issuer);
  const { session } = await door.visit(finishProviderSignIn, {
    provider: 'installation',
    secret,
    answer: back.search.slice(1),
  });
  const there = await door.signedIn(session ?? '');
  expect(there).toMatchObject({
    person: { email: 'ada@corp.example', name: 'Ada' },
    caller: { role: 'admin' },
  });

  const { tick } = createProviderWatch({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
    secrets: bench.secrets,
    providers: part,
    isLeader: () => true,
  });
  groups.set('ada', ['people']);
  bench.now += 60_000;
  await tick();
  expect((await door.signedIn(session ?? '')).caller?.role).toBe('viewer');
  groups.delete('ada');
  bench.now += 60_000;
  await tick();
  expect(await door.who(session ?? '')).toBeUndefined();
});
