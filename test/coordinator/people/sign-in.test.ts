import { beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import {
  createSignInLink,
  endOtherSessions,
  endSession,
  enter,
  listOwnOrganisations,
  listSessions,
  proveAgain,
  signIn,
  signOut,
  switchOrganisation,
} from '../../../coordinator/people/contract.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, intake, signUpPolicyOf } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
} from '../../support/people.ts';

const bench = gateBench();
const door = signUpPolicyOf(bench);
let house: TestOrganisation;

const password = 'correct horse';
const personWithPassword = async (): Promise<string> => {
  const email = `ada-${newId()}@shop.example`;
  await bench.call(createUser, house.owner, { email, password, role: 'member' });
  return email;
};

const linkFor = async (email: string, made_for = 'operator'): Promise<string> => {
  const operation = createSignInLink;
  const { body } = await bench.gate.executeForInstallation(
    operation,
    rawInput(operation, { email, made_for }),
  );
  const [, secret = ''] =
    /^https:\/\/antipode\.test\/enter\/([\w-]{43})$/.exec((body as { address: string }).address) ??
    [];
  return secret;
};

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
});

describe('a sign-in link', () => {
  test('signs its user in, in the organisation that they belong to, with the role of this moment', async () => {
    const { session } = await door.visit(enter, { secret: await linkFor(house.owner.email) });
    expect(await door.who(session)).toMatchObject({
      person: { user: house.owner.user, email: house.owner.email },
      caller: {
        is: 'session',
        organisation: { id: house.organisation, name: 'Shop' },
        role: 'owner',
        scope: 'read_write',
      },
    });
  });

  test('signs in once, also when two come at the same time', async () => {
    const secret = await linkFor(house.owner.email);
    const codes = await Promise.all(
      Array.from({ length: 8 }, () => codeOfRefusal(door.visit(enter, { secret }))),
    );
    expect(codes.toSorted()).toEqual([...Array.from({ length: 7 }, () => 'link_invalid'), 'taken']);
  });

  test('of the operator ends after an hour', async () => {
    const [early, late] = [await linkFor(house.owner.email), await linkFor(house.owner.email)];
    const before = bench.now;
    bench.now = before + 59 * 60_000;
    expect(await codeOfRefusal(door.visit(enter, { secret: early }))).toBe('taken');
    bench.now = before + 61 * 60_000;
    expect(await codeOfRefusal(door.visit(enter, { secret: late }))).toBe('link_invalid');
    bench.now = before;
  });

  test('of a start does not expire, but ends with the next start', async () => {
    const first = await linkFor(house.owner.email, 'start');
    const second = await linkFor(house.owner.email, 'start');
    expect(await codeOfRefusal(door.visit(enter, { secret: first }))).toBe('link_invalid');
    const before = bench.now;
    bench.now = before + 30 * 86_400_000;
    expect(await codeOfRefusal(door.visit(enter, { secret: second }))).toBe('taken');
    bench.now = before;
  });

  test('is made for existing users only, and stored as a fingerprint', async () => {
    expect(await codeOfRefusal(linkFor('nobody@shop.example'))).toBe('user_not_found');
    const secret = await linkFor(house.owner.email);
    const [row] = await bench.sql<
      { text: string }[]
    >`select string_agg(l::text, ' ') as text from one_time_secrets l`;
    expect(row?.text).not.toContain(secret);
  });
});

describe('signing in with a password', () => {
  test('takes the right one, whatever the case of the address', async () => {
    const email = await personWithPassword();
    const { session, second_step } = await door.visit(signIn, {
      email: email.toUpperCase(),
      password,
    });
    expect(second_step).toBeNull();
    expect((await door.signedIn(session ?? '')).person.email).toBe(email);
  });

  test('answers an unknown address and a wrong password in the same words', async () => {
    const email = await personWithPassword();
    const words = (input: object) => door.visit(signIn, input).then(String, String);
    const wrong = await words({ email, password: 'wrong horse' });
    expect(wrong).toContain('wrong');
    for (const unknown of ['nobody@shop.example', 'no\0body@shop.example'])
      expect(await words({ email: unknown, password })).toBe(wrong);
  });

  test('stops listening after ten wrong ones for an account from one host, also to the right one, and for a while only', async () => {
    const email = await personWithPassword();
    const from = { ...intake, address: '198.51.100.7' };
    for (let index = 0; index < 10; index += 1)
      expect(
        await codeOfRefusal(door.visit(signIn, { email, password: `wrong ${index}` }, from)),
      ).toBe('sign_in_failed');
    expect(await codeOfRefusal(door.visit(signIn, { email, password }, from))).toBe(
      'too_many_attempts',
    );
    // The owner of the account, elsewhere, is not locked out.
    expect(
      await codeOfRefusal(
        door.visit(signIn, { email, password }, { ...intake, address: '203.0.113.9' }),
      ),
    ).toBe('taken');
    const before = bench.now;
    bench.now = before + 16 * 60_000;
    expect(await codeOfRefusal(door.visit(signIn, { email, password }, from))).toBe('taken');
    bench.now = before;
  });

  test('counts for unknown addresses, too', async () => {
    const from = { ...intake, address: '198.51.100.8' };
    const codes: string[] = [];
    for (let index = 0; index < 11; index += 1)
      codes.push(
        await codeOfRefusal(door.visit(signIn, { email: 'nobody@shop.example', password }, from)),
      );
    expect([...new Set(codes)]).toEqual(['sign_in_failed', 'too_many_attempts']);
  });

  test('counts a whole network of IPv6 as one host', async () => {
    const email = await personWithPassword();
    const codes: string[] = [];
    for (let index = 0; index < 11; index += 1)
      codes.push(
        await codeOfRefusal(
          door.visit(
            signIn,
            { email, password: 'wrong' },
            { ...intake, address: `2001:db8:1:2::${index}` },
          ),
        ),
      );
    expect(codes.at(-1)).toBe('too_many_attempts');
    expect(
      await codeOfRefusal(
        door.visit(signIn, { email, password }, { ...intake, address: '2001:db8:1:3::1' }),
      ),
    ).toBe('taken');
  });

  test('makes a session of its own and ends the one that the browser had', async () => {
    const email = await personWithPassword();
    const before = await door.comeIn(email);
    const { session } = await door.visit(
      signIn,
      { email, password },
      { ...intake, cookie: before },
    );
    expect(session).not.toBe(before);
    expect(await door.who(before)).toBeUndefined();
    expect(await door.who(session ?? '')).toBeDefined();
  });
});

describe('a session', () => {
  test('is stored as a fingerprint only, and a forged one is refused', async () => {
    const cookie = await door.comeIn(house.member.email);
    const [row] = await bench.sql<
      { text: string }[]
    >`select string_agg(s::text, ' ') as text from sessions s`;
    expect(row?.text).not.toContain(cookie);
    for (const wrong of ['', 'x', `${cookie.slice(0, -2)}AA`, `${cookie}A`, "' or true --"])
      expect(await door.who(wrong)).toBeUndefined();
  });

  test('ends after a week unused, and after thirty days in any case', async () => {
    const cookie = await door.comeIn(house.member.email);
    const [before, day] = [bench.now, 86_400_000];
    for (let passed = 6; passed <= 30; passed += 6) {
      bench.now = before + passed * day;
      const there = (await door.who(cookie)) !== undefined;
      await door.sessions.flush();
      expect([passed, there]).toEqual([passed, passed < 30]);
    }
    bench.now = before;
    const idle = await door.comeIn(house.member.email);
    bench.now = before + 7 * day;
    expect(await door.who(idle)).toBeUndefined();
    bench.now = before;
  });

  test('is listed with device and address, and ended one by one or all but this', async () => {
    const elsewhere = {
      address: '203.0.113.5',
      device:
        'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1',
    };
    const email = await personWithPassword();
    const [desktop, phone, third] = [
      await door.comeIn(email),
      await door.comeIn(email, elsewhere),
      await door.comeIn(email),
    ];
    const { person } = await door.signedIn(desktop);
    const { items } = await door.act(listSessions, person);
    expect(items.map(({ device, address, is_this }) => [device, address, is_this])).toEqual(
      expect.arrayContaining([
        ['Firefox on Linux', '192.0.2.1', true],
        ['Safari on iPhone', '203.0.113.5', false],
        ['Firefox on Linux', '192.0.2.1', false],
      ]),
    );
    const ofPhone = items.find(({ device }) => device.includes('iPhone'))?.id ?? '';
    const stranger = await door.signedIn(await door.comeIn(house.viewer.email));
    expect(
      await codeOfRefusal(door.act(endSession, stranger.person, { session_id: ofPhone })),
    ).toBe('session_not_found');
    await door.act(endSession, person, { session_id: ofPhone });
    expect(await door.who(phone)).toBeUndefined();
    expect(await door.act(endOtherSessions, person)).toEqual({ ended: 1 });
    expect(await door.who(third)).toBeUndefined();
    await door.act(signOut, person);
    expect(await door.who(desktop)).toBeUndefined();
  });

  test('acts in the organisation that its person chose, and in another when they leave that one', async () => {
    const other = await createTestOrganisation(bench.sql, { name: 'Side project' });
    await bench.sql`insert into memberships (organisation_id, user_id, role) values (${other.organisation}, ${house.admin.user}, 'viewer')`;
    const cookie = await door.comeIn(house.admin.email);
    const { person, caller } = await door.signedIn(cookie);
    expect(caller?.organisation.name).toBe('Shop');
    const { items } = await door.act(listOwnOrganisations, person);
    expect(items.map(({ name, role }) => [name, role])).toEqual([
      ['Shop', 'admin'],
      ['Side project', 'viewer'],
    ]);
    await door.act(switchOrganisation, person, { organisation_id: other.organisation });
    expect((await door.signedIn(cookie)).caller).toMatchObject({
      organisation: { name: 'Side project' },
      role: 'viewer',
    });
    const foreign = await createTestOrganisation(bench.sql);
    expect(
      await codeOfRefusal(
        door.act(switchOrganisation, person, { organisation_id: foreign.organisation }),
      ),
    ).toBe('organisation_not_found');
    await bench.sql`delete from memberships where organisation_id = ${other.organisation} and user_id = ${house.admin.user}`;
    expect((await door.signedIn(cookie)).caller?.organisation.name).toBe('Shop');
    await bench.sql`delete from memberships where user_id = ${house.admin.user}`;
    expect((await door.signedIn(cookie)).caller).toBeNull();
  });
});

describe('before dangerous acts', () => {
  const newUser = () => ({ email: `new-${newId()}@shop.example`, password, role: 'member' });

  test('a session gives its password once more when the last proof is older than a quarter of an hour; a token does not', async () => {
    const email = await personWithPassword();
    await bench.sql`update memberships set role = 'owner' where user_id = (select id from users where email = ${email})`;
    const cookie = await door.comeIn(email);
    const asSession = async (): Promise<
      Person | NonNullable<Awaited<ReturnType<typeof door.signedIn>>['caller']>
    > => {
      const { caller } = await door.signedIn(cookie);
      if (!caller) throw new Error('no organisation');
      return caller;
    };
    expect(await bench.refusal(createUser, await asSession(), newUser())).toBe('taken');
    const before = bench.now;
    bench.now = before + 15 * 60_000;
    expect(await bench.refusal(createUser, await asSession(), newUser())).toBe('proof_needed');
    expect(await bench.refusal(createUser, house.owner, newUser())).toBe('taken');
    const { person } = await door.signedIn(cookie);
    expect(await codeOfRefusal(door.act(proveAgain, person, { password: 'wrong horse' }))).toBe(
      'sign_in_failed',
    );
    expect(await bench.refusal(createUser, await asSession(), newUser())).toBe('proof_needed');
    await door.act(proveAgain, person, { password });
    expect(await bench.refusal(createUser, await asSession(), newUser())).toBe('taken');
    bench.now = before;
  });
});
