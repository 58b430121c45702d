import { argon2Sync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import {
  changeEmail,
  changePassword,
  finishSignUp,
  keepEmail,
  requestPasswordReset,
  resetPassword,
  showLink,
  showProfile,
  showSignUpPolicy,
  signIn,
  signUp,
  verifyEmail,
} from '../../../coordinator/people/contract.ts';
import { createToken } from '../../../coordinator/tokens/contract.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, signUpByMail } from '../../support/gate.ts';

const installation = signUpByMail();
const { bench, door, password, fresh, mailTo, secretIn, application, newcomer } = installation;

/** Counting attempts is not about what one costs: a hash says itself how it was made. */
const hashCheaply = async (emails: readonly string[]): Promise<void> => {
  const nonce = randomBytes(16);
  const cost = { memory: 8, passes: 1, parallelism: 1 };
  const tag = argon2Sync('argon2id', { ...cost, message: password, nonce, tagLength: 32 });
  const [salt, sum] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  await bench.sql`update users set password_hash = ${`$argon2id$v=19$m=8,t=1,p=1$${salt}$${sum}`}
    where email = any(${emails})`;
};

const oftenTried = async (): Promise<{ email: string }> => {
  const { email } = await newcomer();
  await hashCheaply([email]);
  return { email };
};

describe('signing up', () => {
  test('makes a person with an organisation of their own, once the address is proven', async () => {
    const email = fresh();
    expect(await door.visit(signUp, application(email))).toEqual({
      session: null,
      must_confirm: true,
    });
    expect(await codeOfRefusal(door.visit(signIn, { email, password }))).toBe('sign_in_failed');
    const secret = secretIn((await mailTo(email))?.text, 'finish');
    expect(await door.visit(showLink, { kind: 'sign-up', secret })).toEqual({
      email,
      name: 'Ada',
      organisation: 'Engines',
    });
    const { session } = await door.visit(finishSignUp, { secret, password });
    expect(await door.signedIn(session)).toMatchObject({
      person: { email, name: 'Ada', email_verified: true },
      caller: {
        role: 'owner',
        organisation: { name: 'Engines', plan: 'team', time_zone: 'Europe/London' },
      },
    });
    expect(await codeOfRefusal(door.visit(finishSignUp, { secret, password }))).toBe(
      'link_invalid',
    );
    expect(await codeOfRefusal(door.visit(signIn, { email, password }))).toBe('taken');
  });

  test('answers the same to an address that has an account; only the mail differs', async () => {
    const email = fresh();
    await bench.call(createUser, installation.house.owner, { email, password, role: 'member' });
    expect(await door.visit(signUp, application(email))).toEqual({
      session: null,
      must_confirm: true,
    });
    const mail = await mailTo(email);
    expect(mail?.subject).toContain('already');
    expect(mail?.text).not.toContain('/finish/');
  });

  test('stores neither the password nor the secret of its link', async () => {
    const email = fresh();
    await door.visit(signUp, application(email));
    const secret = secretIn((await mailTo(email))?.text, 'finish');
    const [row] = await bench.sql<
      { text: string }[]
    >`select (select string_agg(s::text, ' ') from one_time_secrets s) ||
      (select string_agg(m::text, ' ') from deliveries m) || (select string_agg(a::text, ' ') from audit_log a) as text`;
    for (const hidden of [password, secret]) expect(row?.text).not.toContain(hidden);
  });

  test('returns every error of the input before anything is created', async () => {
    const code = (input: object) =>
      codeOfRefusal(door.visit(signUp, { ...application(fresh()), ...input }));
    for (const email of ['no address', 'ada\0@shop.example'])
      expect(await code({ email })).toBe('email_invalid');
    expect(await code({ password: 'short' })).toBe('password_invalid');
    expect(await code({ name: ' ' })).toBe('name_invalid');
    expect(await code({ organisation: '' })).toBe('name_invalid');
    expect(await code({ time_zone: 'Mars/Olympus' })).toBe('time_zone_invalid');
    expect(await code({ invitation_secret: 'x' })).toBe('link_invalid');
  });

  test('sends no more than five mails to an address in a quarter of an hour', async () => {
    const email = fresh();
    const codes: string[] = [];
    for (let index = 0; index < 6; index += 1)
      codes.push(await codeOfRefusal(door.visit(signUp, application(email))));
    expect(codes).toEqual([...Array.from({ length: 5 }, () => 'taken'), 'too_many_attempts']);
  });

  test('is offered on the sign-in page', async () => {
    expect(await door.visit(showSignUpPolicy, {})).toMatchObject({ sign_up: 'open', mail: true });
  });
});

describe('a new password', () => {
  test('comes by a link in a mail to the address of the account, ends all sessions, and the link works once', async () => {
    const { email, session } = await newcomer();
    await door.visit(requestPasswordReset, { email: email.toUpperCase() });
    const secret = secretIn((await mailTo(email))?.text, 'reset');
    expect(await door.visit(showLink, { kind: 'password reset', secret })).toMatchObject({ email });
    expect(await codeOfRefusal(door.visit(resetPassword, { secret, password: 'short' }))).toBe(
      'password_invalid',
    );
    const entered = await door.visit(resetPassword, { secret, password: 'battery staple' });
    expect(await door.who(entered.session ?? '')).toBeDefined();
    expect(await door.who(session)).toBeUndefined();
    expect(await codeOfRefusal(door.visit(signIn, { email, password }))).toBe('sign_in_failed');
    expect(await codeOfRefusal(door.visit(signIn, { email, password: 'battery staple' }))).toBe(
      'taken',
    );
    expect(
      await codeOfRefusal(door.visit(resetPassword, { secret, password: 'another staple' })),
    ).toBe('link_invalid');
    expect((await mailTo(email))?.subject).toContain('was changed');
  });

  test('is answered the same for an address without an account, to which nothing is sent', async () => {
    const email = fresh();
    expect(await door.visit(requestPasswordReset, { email })).toEqual({ sent: true });
    expect(await mailTo(email)).toBeUndefined();
  });

  test('can be chosen for an hour', async () => {
    const { email } = await newcomer();
    await door.visit(requestPasswordReset, { email });
    const secret = secretIn((await mailTo(email))?.text, 'reset');
    const before = bench.now;
    bench.now = before + 61 * 60_000;
    expect(await door.visit(showLink, { kind: 'password reset', secret })).toMatchObject({
      email: null,
    });
    expect(
      await codeOfRefusal(door.visit(resetPassword, { secret, password: 'battery staple' })),
    ).toBe('link_invalid');
    bench.now = before;
  });

  test('chosen while signed in ends all sessions, and gives this browser a new one', async () => {
    const { email, session } = await newcomer();
    const other = await door.comeIn(email);
    const { person } = await door.signedIn(session);
    const { session: next } = await door.act(changePassword, person, {
      password: 'battery staple',
    });
    expect([await door.who(session), await door.who(other)]).toEqual([undefined, undefined]);
    expect((await door.signedIn(next)).person.email).toBe(email);
  });
});

describe('what survives a new password', () => {
  test('is listed in the notice, and ends when its owner ends it', async () => {
    const { email, session } = await newcomer();
    const { person, caller } = await door.signedIn(session);
    if (!caller) throw new Error('no organisation');
    const { user } = person;
    const kept = async () => {
      const counts = await bench.sql<{ count: number }[]>`
        select count(*)::int from tokens where user_id = ${user} union all select count(*)::int from passkeys where user_id = ${user}
        union all select count(*)::int from connections where user_id = ${user}`;
      return counts.map(({ count }) => count);
    };
    await bench.call(createToken, caller, { name: 'ci', scope: 'read' });
    await bench.sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at)
      values (${newId()}, ${user}, ${newId()}, '', 0, '{}', 'Phone', true, now())`;
    await bench.sql`insert into connections (id, organisation_id, user_id, client_id, client_name, redirect_host, scope, created_at)
      values (${newId()}, ${caller.organisation.id}, ${user}, 'x', 'An editor', '127.0.0.1', 'read', now())`;
    const { session: second } = await door.act(changePassword, person, {
      password: 'battery staple',
    });
    expect(await kept()).toEqual([1, 1, 1]);
    expect((await mailTo(email))?.text).toContain(
      'Its API tokens, passkeys and connected assistants, if there are any, stay valid.',
    );
    const again = (await door.signedIn(second)).person;
    const { session: third } = await door.act(changePassword, again, {
      password: 'another staple',
      end_tokens: true,
      end_assistants: true,
    });
    expect(await kept()).toEqual([0, 1, 0]);
    const told = (await mailTo(email))?.text;
    expect(told).toContain(
      'Its API tokens and connected assistants were revoked. Its passkeys, if there are any, stay valid.',
    );
    await door.act(changePassword, (await door.signedIn(third)).person, {
      password: 'the last staple',
      end_passkeys: true,
    });
    expect(await kept()).toEqual([0, 0, 0]);
  });
});

describe('an e-mail address', () => {
  test('changes when the new one is verified, and the old installation.mailbox gets a mail', async () => {
    const { email, session } = await newcomer();
    const wanted = fresh();
    const { person } = await door.signedIn(session);
    expect(await door.act(changeEmail, person, { email: wanted })).toEqual({
      email: wanted,
      must_confirm: true,
    });
    expect(await door.act(showProfile, person)).toMatchObject({ email, wanted_email: wanted });
    const secret = secretIn((await mailTo(wanted))?.text, 'verify');
    expect(await door.act(verifyEmail, person, { secret })).toEqual({ email: wanted });
    expect((await door.signedIn(session)).person).toMatchObject({
      email: wanted,
      email_verified: true,
    });
    const notice = await mailTo(email);
    expect(notice?.subject).toContain('address was changed');
    expect(await codeOfRefusal(door.act(verifyEmail, person, { secret }))).toBe('link_invalid');
  });

  test('that has an account already is neither taken over nor revealed', async () => {
    const [{ session }, { email: other }] = [await newcomer(), await newcomer()];
    const { person } = await door.signedIn(session);
    const sent = installation.mailbox.received.filter(({ to }) => to.includes(other)).length;
    expect(await door.act(changeEmail, person, { email: other })).toEqual({
      email: other,
      must_confirm: true,
    });
    await installation.mailer.tick();
    expect(installation.mailbox.received.filter(({ to }) => to.includes(other))).toHaveLength(sent);
  });

  test('that was never verified is verified in the same way', async () => {
    const email = fresh();
    await bench.call(createUser, installation.house.owner, { email, password, role: 'member' });
    const session = await door.comeIn(email);
    const { person } = await door.signedIn(session);
    expect(person.email_verified).toBe(false);
    await door.act(changeEmail, person, { email });
    await door.act(verifyEmail, person, {
      secret: secretIn((await mailTo(email))?.text, 'verify'),
    });
    expect((await door.signedIn(session)).person.email_verified).toBe(true);
  });
});

describe('a change of address', () => {
  test('is mailed to the old address, whose link ends it', async () => {
    const { email, session } = await newcomer();
    const wanted = fresh();
    const { person } = await door.signedIn(session);
    await door.act(changeEmail, person, { email: wanted });
    const secret = secretIn((await mailTo(wanted))?.text, 'verify');
    const told = await mailTo(email);
    expect(told?.subject).toContain('about to change');
    const keep = secretIn(told?.text, 'keep');
    expect(await door.visit(showLink, { kind: 'e-mail kept', secret: keep })).toMatchObject({
      email: wanted,
    });
    expect(await door.visit(keepEmail, { secret: keep })).toEqual({ wanted });
    expect(await codeOfRefusal(door.act(verifyEmail, person, { secret }))).toBe('link_invalid');
    expect((await door.signedIn(session)).person.email).toBe(email);
    expect(await codeOfRefusal(door.visit(keepEmail, { secret: keep }))).toBe('link_invalid');
  });

  test('ends with a new password, as a reset does, and is confirmed by its own user alone', async () => {
    const { email, session } = await newcomer();
    const wanted = fresh();
    await door.visit(requestPasswordReset, { email });
    const reset = secretIn((await mailTo(email))?.text, 'reset');
    expect(await door.visit(showLink, { kind: 'password reset', secret: reset })).toMatchObject({
      email,
    });
    const { person } = await door.signedIn(session);
    await door.act(changeEmail, person, { email: wanted });
    const secret = secretIn((await mailTo(wanted))?.text, 'verify');
    const stranger = (await door.signedIn((await newcomer()).session)).person;
    expect(await codeOfRefusal(door.act(verifyEmail, stranger, { secret }))).toBe('link_invalid');
    const { session: next } = await door.act(changePassword, person, {
      password: 'battery staple',
    });
    const again = (await door.signedIn(next)).person;
    expect(await codeOfRefusal(door.act(verifyEmail, again, { secret }))).toBe('link_invalid');
    expect(again.email).not.toBe(wanted);
    expect(
      await codeOfRefusal(
        door.visit(resetPassword, { secret: reset, password: 'chosen by another' }),
      ),
    ).toBe('link_invalid');
  });

  test('ends the links to a new password that went to the old installation.mailbox', async () => {
    const { email, session } = await newcomer();
    await door.visit(requestPasswordReset, { email });
    const reset = secretIn((await mailTo(email))?.text, 'reset');
    const wanted = fresh();
    const { person } = await door.signedIn(session);
    await door.act(changeEmail, person, { email: wanted });
    await door.act(verifyEmail, person, {
      secret: secretIn((await mailTo(wanted))?.text, 'verify'),
    });
    expect(
      await codeOfRefusal(door.visit(resetPassword, { secret: reset, password: 'battery staple' })),
    ).toBe('link_invalid');
  });
});

describe('signing up with an address of someone else', () => {
  test('creates no account with a foreign password: the one who finishes must know it', async () => {
    const email = fresh();
    await door.visit(signUp, { ...application(email), password: 'chosen by a stranger' });
    const secret = secretIn((await mailTo(email))?.text, 'finish');
    expect(await codeOfRefusal(door.visit(finishSignUp, { secret, password }))).toBe(
      'sign_in_failed',
    );
    expect(
      await codeOfRefusal(door.visit(signIn, { email, password: 'chosen by a stranger' })),
    ).toBe('sign_in_failed');
  });

  test('ends with a sign-up of the owner: one link alone is good', async () => {
    const email = fresh();
    await door.visit(signUp, { ...application(email), password: 'chosen by a stranger' });
    const first = secretIn((await mailTo(email))?.text, 'finish');
    await door.visit(signUp, application(email));
    const second = secretIn((await mailTo(email))?.text, 'finish');
    expect(
      await codeOfRefusal(
        door.visit(finishSignUp, { secret: first, password: 'chosen by a stranger' }),
      ),
    ).toBe('link_invalid');
    expect((await door.visit(finishSignUp, { secret: second, password })).session).toBeTruthy();
  });

  test('a link for a new password is asked for with an address that is one', async () => {
    expect(await codeOfRefusal(door.visit(requestPasswordReset, { email: 'no address' }))).toBe(
      'email_invalid',
    );
  });
});

describe('wrong passwords', () => {
  const wrong = async (email: string, address: string): Promise<string> =>
    codeOfRefusal(
      door.visit(signIn, { email, password: 'guessed wrong' }, { address, device: '' }),
    );

  test('of a host at many accounts are refused after sixty, however often it signs in to its own', async () => {
    const { email: own } = await newcomer();
    const host = '198.51.100.7';
    const victims = await bench.sql<{ email: string }[]>`
      insert into users (id, email, name, password_hash)
      select gen_random_uuid(), 'victim-' || n || '@shop.example', '', '' from generate_series(1, 62) n
      returning email`;
    await hashCheaply(victims.map(({ email }) => email));
    const codes = [];
    for (const [index, { email }] of victims.entries()) {
      codes.push(await wrong(email, host));
      if (index === 30)
        await door.visit(signIn, { email: own, password }, { address: host, device: '' });
    }
    expect(codes.at(50)).toBe('sign_in_failed');
    expect(codes.at(-1)).toBe('too_many_attempts');
  });

  test('of an account from many hosts lead to a link by mail after a hundred, which signs its owner in', async () => {
    const { email } = await oftenTried();
    for (let index = 0; index < 100; index += 1)
      expect(await wrong(email, `198.51.100.${index}`)).toBe('sign_in_failed');
    await expect(
      door.visit(signIn, { email, password }, { address: '203.0.113.9', device: '' }),
    ).rejects.toThrow('Ask for a link by mail');
    await door.visit(requestPasswordReset, { email });
    const secret = secretIn((await mailTo(email))?.text, 'reset');
    const entered = await door.visit(resetPassword, { secret, password: 'battery staple' });
    await hashCheaply([email]);
    for (let index = 0; index < 101; index += 1) await wrong(email, `198.51.100.${index}`);
    expect(await door.who(entered.session ?? '')).toBeDefined();
  });
});

describe('no one can lock another user out', () => {
  const owner = { address: '203.0.113.9', device: '' };
  const guess = (email: string, address: string): Promise<string> =>
    codeOfRefusal(
      door.visit(signIn, { email, password: 'guessed wrong' }, { address, device: '' }),
    );

  test('from one host: attempts that are refused there count for no account', async () => {
    const { email } = await oftenTried();
    for (let index = 0; index < 120; index += 1) await guess(email, '198.51.100.20');
    expect((await door.visit(signIn, { email, password }, owner)).session).toBeTruthy();
  });

  test('of the link by mail: other mails to the installation.mailbox leave room for it', async () => {
    const { email } = await oftenTried();
    for (let index = 0; index < 6; index += 1)
      await codeOfRefusal(door.visit(signUp, application(email)));
    expect(await door.visit(requestPasswordReset, { email })).toEqual({ sent: true });
  });

  test('and wrong passwords of an account are counted over a whole hour', async () => {
    const { email } = await oftenTried();
    for (let index = 0; index < 60; index += 1) await guess(email, `198.51.100.${index}`);
    bench.now += 20 * 60_000;
    for (let index = 0; index < 40; index += 1) await guess(email, `198.51.100.${index}`);
    await expect(door.visit(signIn, { email, password }, owner)).rejects.toThrow(
      'Ask for a link by mail',
    );
    bench.now += 41 * 60_000;
    expect((await door.visit(signIn, { email, password }, owner)).session).toBeTruthy();
  });
});
