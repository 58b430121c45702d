import { generateKeyPairSync } from 'node:crypto';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import {
  changePassword,
  listOwnOrganisations,
  switchOrganisation,
} from '../../../coordinator/people/contract.ts';
import {
  beginProviderConnection,
  beginProviderSignIn,
  finishProviderSignIn,
} from '../../../coordinator/providers/contract.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, intake, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { hangs, says } from '../../support/receivers.ts';
import {
  type Asked,
  askedOf,
  bySecret,
  client,
  openProviderPlace,
  ownProvider,
  type TestProvider,
  unsigned,
} from '../../support/sign-in-providers.ts';

/** What may be tried at the way in by a provider: nothing of it signs anybody in. */

const place = openProviderPlace(['login.example', 'evil.example', 'corp-login.example']);
const [good, evil, corp] = [
  await place.open('login.example'),
  await place.open('evil.example'),
  await place.open('corp-login.example'),
];
place.names.set('inside.example', '10.1.2.3').set('metadata.example', '169.254.169.254');
const bench = gateBench(undefined, undefined, undefined, () => place.part(good.issuer));
const door = signUpPolicyOf(bench);
const password = 'correct horse';

let house: TestOrganisation;
let other: TestOrganisation;
let corpKey = '';
let evilKey = '';
let victim = '';

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  other = await createTestOrganisation(bench.sql, { name: 'Corp' });
  const evils = await createTestOrganisation(bench.sql, { name: 'Evil' });
  corpKey = await ownProvider(bench, other.organisation, corp.issuer, 'corp.example');
  evilKey = await ownProvider(bench, evils.organisation, evil.issuer, 'evil.example');
  victim = `victim-${newId()}@corp.example`;
  await bench.call(createUser, house.owner, { email: victim, password, role: 'admin' });
});
beforeEach(async () => {
  for (const provider of [good, evil, corp]) provider.reset();
  someone();
  await bench.sql`delete from attempts`;
});
afterAll(async () => {
  for (const { close } of [good, evil, corp]) await close();
  await place.close();
});

type Begun = { readonly secret: string; readonly asked: Asked };

const begin = async (provider = 'installation'): Promise<Begun> => {
  const { address, secret } = await door.visit(beginProviderSignIn, { provider });
  return { secret, asked: askedOf(address) };
};

type Changed = {
  readonly provider?: string;
  readonly at?: TestProvider;
  readonly secret?: string;
  readonly answer?: (answer: URLSearchParams) => unknown;
  readonly begun?: Begun;
};

/** Goes the whole way, with what is changed of it. */
const comeIn = async (changed: Changed = {}) => {
  const { provider = 'installation', at = good, answer } = changed;
  const begun = changed.begun ?? (await begin(provider));
  const { asked } = begun;
  const query = new URLSearchParams({ code: at.grant(asked), state: asked.state });
  answer?.(query);
  return door.visit(finishProviderSignIn, {
    provider,
    secret: changed.secret ?? begun.secret,
    answer: String(query),
  });
};

const sub = (): string => newId();
const someone = (at = good, more: object = {}, name = sub()): void => {
  at.claims = {
    sub: name,
    email: `${name}@corp.example`,
    email_verified: true,
    groups: ['people'],
    ...more,
  };
  at.info = { sub: name };
};

/** An ID token that says this otherwise. */
const saying = (more: object, header: object = {}, at = good) => {
  someone(at);
  at.token = (asked) => at.sign({ ...at.standard(asked), ...more }, { ...header });
};

const said = (more: object) => () => {
  saying(more);
  return comeIn();
};

const json = { 'content-type': 'application/json' };
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const now = () => Math.floor(Date.now() / 1_000);
const pem = () => String(good.publicKey.export({ type: 'spki', format: 'pem' }));

/** By a provider of an organisation of which nothing is known yet. */
const byFresh = async (change: (fresh: TestProvider) => void) => {
  const fresh = await place.open('evil.example');
  someone(fresh, { email: `${sub()}@other.example` });
  change(fresh);
  const key = await ownProvider(bench, house.organisation, fresh.issuer, 'other.example');
  return comeIn({ provider: key, at: fresh }).finally(async () => {
    await bench.sql`delete from sign_in_providers where organisation_id = ${key}`;
    await fresh.close();
  });
};

type Attack = readonly [name: string, run: () => Promise<unknown>];

const attacks: readonly Attack[] = [
  // The browser's way.
  ['another state', () => comeIn({ answer: (a) => a.set('state', 'x'.repeat(43)) })],
  ['no state', () => comeIn({ answer: (a) => a.delete('state') })],
  ['two states', () => comeIn({ answer: (a) => a.append('state', a.get('state') ?? '') })],
  [
    'the state of another browser',
    async () => {
      const theirs = await begin();
      return comeIn({ answer: (a) => a.set('state', theirs.asked.state) });
    },
  ],
  [
    'the answer of one browser in another',
    async () => {
      const mine = await begin();
      return comeIn({ secret: mine.secret });
    },
  ],
  ['no cookie', () => comeIn({ secret: '' })],
  ['a made-up cookie', () => comeIn({ secret: 'x'.repeat(43) })],
  [
    'the state as the cookie',
    async () => {
      const begun = await begin();
      return comeIn({ begun, secret: begun.asked.state });
    },
  ],
  [
    'an answer twice',
    async () => {
      someone();
      good.claims = { ...good.claims, groups: ['else'] };
      const begun = await begin();
      await codeOfRefusal(comeIn({ begun }));
      someone();
      return comeIn({ begun });
    },
  ],
  [
    'an answer again after one that failed',
    async () => {
      const begun = await begin();
      await codeOfRefusal(comeIn({ begun, answer: (a) => a.set('state', 'wrong') }));
      someone();
      return comeIn({ begun });
    },
  ],
  [
    'an answer after eleven minutes',
    async () => {
      someone();
      const begun = await begin();
      bench.now += 11 * 60_000;
      return comeIn({ begun }).finally(() => {
        bench.now -= 11 * 60_000;
      });
    },
  ],
  [
    'an answer at the address of another provider',
    async () => {
      someone();
      const begun = await begin();
      const query = new URLSearchParams({
        code: good.grant(begun.asked),
        state: begun.asked.state,
      });
      const { secret } = begun;
      return door.visit(finishProviderSignIn, { provider: corpKey, secret, answer: String(query) });
    },
  ],
  ['a provider that there is not', () => comeIn({ provider: newId() })],
  ['a provider by a name that is none', () => comeIn({ provider: "x' or true --" })],
  [
    'an error of the provider',
    () => {
      someone();
      return comeIn({
        answer: (a) => {
          a.delete('code');
          a.set('error', 'access_denied');
        },
      });
    },
  ],
  ['no code', () => comeIn({ answer: (a) => a.delete('code') })],
  ['two codes', () => comeIn({ answer: (a) => a.append('code', 'other') })],
  [
    'an ID token in the address',
    () => {
      someone();
      return comeIn({ answer: (a) => a.set('id_token', 'a.b.c') });
    },
  ],
  ['an answer in the form of JARM', () => comeIn({ answer: (a) => a.set('response', 'a.b.c') })],

  // Mix-up and injection.
  [
    'the name of another issuer in the answer',
    () => {
      someone();
      return comeIn({ answer: (a) => a.set('iss', evil.issuer) });
    },
  ],
  [
    'no issuer in the answer of one that names itself',
    () =>
      byFresh((fresh) => {
        fresh.metadata = { authorization_response_iss_parameter_supported: true };
      }),
  ],
  [
    "a code of another person's sign-in",
    async () => {
      someone();
      const theirs = await begin();
      const code = good.grant(theirs.asked);
      return comeIn({ answer: (a) => a.set('code', code) });
    },
  ],
  [
    'a code of another provider',
    async () => {
      someone();
      const begun = await begin();
      return comeIn({ begun, at: evil });
    },
  ],
  [
    'a code twice',
    async () => {
      someone();
      const first = await begin();
      const code = good.grant(first.asked);
      const again = await begin();
      await codeOfRefusal(comeIn({ begun: first, answer: (a) => a.set('code', code) }));
      await bench.sql`delete from identities where subject = ${String(good.claims.sub)}`;
      return comeIn({ begun: again, answer: (a) => a.set('code', code) });
    },
  ],

  // The ID token.
  ['another nonce', said({ nonce: 'x'.repeat(43) })],
  ['no nonce', said({ nonce: undefined })],
  ['another issuer', said({ iss: evil.issuer })],
  ['an issuer with one slash more', said({ iss: `${good.issuer}/` })],
  ['another audience', said({ aud: 'other' })],
  ['several audiences and another party', said({ aud: [client.client_id, 'other'], azp: 'other' })],
  ['no audience', said({ aud: undefined })],
  ['one that is over', said({ exp: now() - 3_600, iat: now() - 7_200 })],
  ['one without an end', said({ exp: undefined })],
  ['one of the future', said({ nbf: now() + 3_600 })],
  ['no subject', said({ sub: undefined })],
  ['an empty subject', said({ sub: '' })],
  ['a subject that is no text', said({ sub: { toString: 'ada' } })],
  ['a subject of four kilobytes', said({ sub: 'a'.repeat(4_096) })],
  ['an address with a zero in it', said({ email: `a\0${sub()}@corp.example` })],
  [
    'no signature',
    () => {
      someone();
      good.token = async (asked) => unsigned(good.standard(asked), { alg: 'none' });
      return comeIn();
    },
  ],
  [
    'a signature cut off',
    () => {
      someone();
      good.token = async (asked) =>
        (await good.sign(good.standard(asked))).split('.').slice(0, 2).join('.').concat('.');
      return comeIn();
    },
  ],
  [
    'a signature by the public key as a secret',
    () => {
      someone();
      good.token = async (asked) => bySecret(good.standard(asked), pem(), { kid: good.kid });
      return comeIn();
    },
  ],
  [
    "a signature by the client's secret",
    () => {
      someone();
      good.token = async (asked) => bySecret(good.standard(asked), client.client_secret);
      return comeIn();
    },
  ],
  [
    'a signature by the secret where the provider says so',
    () => {
      someone(corp);
      corp.metadata = { id_token_signing_alg_values_supported: ['HS256'] };
      corp.token = async (asked) => bySecret(corp.standard(asked), client.client_secret);
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'a signature by a key of another issuer',
    () => {
      someone();
      good.token = (asked) => evil.sign(good.standard(asked), { kid: good.kid });
      return comeIn();
    },
  ],
  [
    'a signature by a key that the token brings',
    () => {
      someone();
      good.token = async (asked) =>
        new SignJWT({ ...good.standard(asked) })
          .setProtectedHeader({ alg: 'RS256', jwk: await exportJWK(stranger.publicKey) })
          .sign(stranger.privateKey);
      return comeIn();
    },
  ],
  [
    'a key at an address that the token names',
    () => {
      someone();
      good.token = (asked) =>
        new SignJWT({ ...good.standard(asked) })
          .setProtectedHeader({ alg: 'RS256', jku: `${evil.issuer}/keys`, kid: evil.kid })
          .sign(evil.privateKey);
      return comeIn();
    },
  ],
  [
    'a changed claim under a good signature',
    () => {
      someone();
      good.token = async (asked) => {
        const [head, , tail] = (await good.sign(good.standard(asked))).split('.');
        const body = Buffer.from(JSON.stringify({ ...good.standard(asked), groups: ['bosses'] }));
        return `${head}.${body.toString('base64url')}.${tail}`;
      };
      return comeIn();
    },
  ],
  [
    'user info of somebody else',
    () => {
      good.claims = { sub: sub() };
      good.info = { sub: 'boss', email: victim, email_verified: true, groups: ['bosses'] };
      return comeIn();
    },
  ],

  // Who it is.
  ['an address that is not confirmed', said({ email_verified: false })],
  ['an address confirmed by a word', said({ email_verified: 'true' })],
  ['an address confirmed by a number', said({ email_verified: 1 })],
  [
    'an address that is not confirmed, and its domain is',
    said({ email_verified: false, xms_edov: true }),
  ],
  [
    'no word on whether it is confirmed',
    () => {
      someone(good, { email_verified: undefined });
      return comeIn();
    },
  ],
  [
    'an address here and its proof there',
    () => {
      someone(good, { email: victim, email_verified: undefined });
      good.info = { sub: good.claims.sub, email_verified: true };
      return comeIn();
    },
  ],
  ['the confirmed address of an account that exists', said({ email: victim })],
  ['the same in capitals', said({ email: victim.toUpperCase() })],
  [
    'the address of an account, by the provider of another organisation',
    () => {
      someone(corp, { email: victim });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'an address of a domain that another proved',
    () => {
      someone(evil, { email: `${sub()}@corp.example` });
      return comeIn({ provider: evilKey, at: evil });
    },
  ],
  [
    'an address below the domain',
    () => {
      someone(corp, { email: `${sub()}@x.corp.example` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'an address of a domain that ends alike',
    () => {
      someone(corp, { email: `${sub()}@notcorp.example` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'two domains in an address',
    () => {
      someone(corp, { email: `${sub()}@evil.example@corp.example` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'a domain that looks alike',
    () => {
      someone(corp, { email: `${sub()}@соrp.example` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'a domain that looks alike, as DNS has it',
    () => {
      someone(corp, { email: `${sub()}@xn--rp-6kcyc.example` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'a dot behind the domain',
    () => {
      someone(corp, { email: `${sub()}@corp.example.` });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],
  [
    'addresses as a list',
    () => {
      someone(corp, { email: [`${sub()}@corp.example`] });
      return comeIn({ provider: corpKey, at: corp });
    },
  ],

  // Groups.
  ['groups as one text', said({ groups: 'bosses' })],
  ['groups as an object', said({ groups: { bosses: true } })],
  ['groups in a list of lists', said({ groups: [['bosses']] })],
  ['a group beside something else', said({ groups: ['bosses', {}] })],
  ['the sign for everybody as a group', said({ groups: ['*'] })],
  ['a group in other letters', said({ groups: ['Bosses', 'bosses '] })],
  ['a role as a group', said({ groups: ['owner'], role: 'owner' })],

  // Where it leads.
  ...(
    [
      ['keys', { jwks_uri: 'https://inside.example/keys' }],
      ['tokens', { token_endpoint: 'https://metadata.example/latest' }],
      ['tokens without TLS', { token_endpoint: 'http://evil.example/token' }],
      ['tokens at an address', { token_endpoint: 'https://127.0.0.2/token' }],
      ['tokens at an address of six', { token_endpoint: 'https://[::1]/token' }],
      ['keys in a file', { jwks_uri: 'file:///etc/passwd' }],
      ['another issuer', { issuer: 'https://login.example' }],
      ['no keys', { jwks_uri: undefined }],
    ] as const
  ).map(
    ([name, metadata]): Attack => [
      `a description that leads elsewhere: ${name}`,
      () =>
        byFresh((fresh) => {
          fresh.metadata = metadata;
        }),
    ],
  ),
  ...(
    [
      ['redirects', says(302, '', { location: 'https://inside.example/' })],
      ['is huge', says(200, `{"issuer":"${'x'.repeat(600_000)}"}`, json)],
      ['is no JSON', says(200, '<html>', json)],
      ['never comes', hangs],
    ] as const
  ).flatMap(([name, behaviour]) =>
    ['/.well-known/openid-configuration', '/token', '/keys'].map(
      (path): Attack => [
        `an answer of ${path} that ${name}`,
        () => byFresh(({ answers }) => answers.set(path, behaviour)),
      ],
    ),
  ),
];

const opened = async () => {
  const [row] = await bench.sql<{ sessions: string; identities: string; owners: string }[]>`
    select (select count(*) from sessions) as sessions,
      (select count(*) from memberships where role in ('owner', 'admin')) as owners,
      (select count(*) from identities) as identities`;
  return row;
};

test('there are more than fifty', () => {
  expect(new Set(attacks.map(([name]) => name)).size).toBeGreaterThan(80);
});

test('without one of them, one comes in', async () => {
  someone();
  expect((await comeIn()).session).not.toBeNull();
  someone(corp);
  expect((await comeIn({ provider: corpKey, at: corp })).session).not.toBeNull();
  expect((await byFresh(() => undefined)).session).not.toBeNull();
});

test.each(attacks)('nobody comes in by %s', async (_name, run) => {
  const before = await opened();
  const code = await codeOfRefusal(run());
  expect(code).not.toBe('taken');
  expect(await opened()).toEqual(before);
});

describe('whom a provider knows already', () => {
  test('stays who they are, whatever address it says of them later', async () => {
    const name = sub();
    someone(good, {}, name);
    const first = await door.signedIn((await comeIn()).session ?? '');
    someone(good, { email: victim }, name);
    const later = await door.signedIn((await comeIn()).session ?? '');
    expect(later.person.user).toBe(first.person.user);
    expect(later.person.email).toBe(`${name}@corp.example`);
  });

  test('is another at another provider', async () => {
    const name = sub();
    someone(good, {}, name);
    const first = await door.signedIn((await comeIn()).session ?? '');
    someone(corp, { email: `${sub()}@corp.example` }, name);
    const later = await door.signedIn(
      (await comeIn({ provider: corpKey, at: corp })).session ?? '',
    );
    expect(later.person.user).not.toBe(first.person.user);
  });
});

describe("the session of an organisation's provider", () => {
  test('reaches no other organisation, no operator, and not how its account signs in', async () => {
    someone(corp);
    const { session } = await comeIn({ provider: corpKey, at: corp });
    const { person } = await door.signedIn(session ?? '');
    await bench.sql`insert into memberships (organisation_id, user_id, role)
      values (${house.organisation}, ${person.user}, 'owner')`;
    await bench.sql`update users set is_operator = true where id = ${person.user}`;
    const there = await door.signedIn(session ?? '');
    expect(there.caller?.organisation.id).toBe(other.organisation);
    expect(there.person.is_operator).toBe(false);
    const { items } = await door.act(listOwnOrganisations, there.person);
    expect(items.map(({ id }) => id)).toEqual([other.organisation]);
    const refused = [
      door.act(switchOrganisation, there.person, { organisation_id: house.organisation }),
      door.act(changePassword, there.person, { password: 'a new password' }),
      door.act(beginProviderConnection, there.person, { provider: 'installation' }),
    ];
    expect(await Promise.all(refused.map(codeOfRefusal))).toEqual([
      'organisation_not_found',
      'provider_insufficient',
      'provider_insufficient',
    ]);
    await bench.sql`delete from memberships where organisation_id = ${other.organisation}
      and user_id = ${person.user}`;
    expect((await door.signedIn(session ?? '')).caller).toBeNull();
    await bench.sql`delete from users where id = ${person.user}`;
  });
});

test('one host tries sixty times in a quarter of an hour, then waits', async () => {
  const from = { ...intake, address: '192.0.2.77' };
  const codes: string[] = [];
  for (let tried = 0; tried < 61; tried += 1)
    codes.push(
      await codeOfRefusal(
        door.visit(
          finishProviderSignIn,
          { provider: 'installation', secret: `${tried}`, answer: 'code=1' },
          from,
        ),
      ),
    );
  expect([codes.at(59), codes.at(60)]).toEqual(['provider_refused', 'too_many_attempts']);
});
