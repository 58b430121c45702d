import { beforeAll, describe, expect, test } from 'vitest';
import type { Person as SignedInPerson } from '../../../coordinator/gate/caller.ts';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import {
  changePassword,
  endSecondFactor,
  finishSignIn,
  proposeSecondFactor,
  replaceRecoveryCodes,
  resetPassword,
  showSecondFactor,
  signIn,
  startSecondFactor,
} from '../../../coordinator/people/contract.ts';
import { codeOf, stepAt } from '../../../coordinator/people/second-factor.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { codeSecretOf } from '../../../coordinator/secrets/at-rest.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, intake, signUpPolicyOf } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

const bench = gateBench({ signUp: 'invited', signUpPlan: 'free', mail: true });
const door = signUpPolicyOf(bench);
const password = 'correct horse';
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
});

type Ada = {
  readonly email: string;
  readonly person: SignedInPerson;
  readonly secret: string;
  readonly codes: readonly string[];
};

const newPerson = async (): Promise<{ email: string; person: SignedInPerson }> => {
  const email = `ada-${newId()}@shop.example`;
  await bench.call(createUser, house.owner, { email, password, role: 'member' });
  return { email, person: (await door.signedIn(await door.comeIn(email))).person };
};

/** Somebody whose sign-in takes two steps. */
const withSecondStep = async (): Promise<Ada> => {
  const { email, person } = await newPerson();
  const { secret } = await door.act(proposeSecondFactor, person);
  const { recovery_codes: codes } = await door.act(startSecondFactor, person, {
    secret,
    code: codeOf(secret, stepAt(bench.now)),
  });
  // The next code, so that the one that set it up is not the one to sign in with.
  bench.now += 30_000;
  return { email, person, secret, codes };
};

const now = (secret: string, away = 0): string => codeOf(secret, stepAt(bench.now) + away);

const begin = async (email: string): Promise<string> => {
  const { session, second_step } = await door.visit(signIn, { email, password });
  expect(session).toBeNull();
  return second_step ?? '';
};

const tryCode = async (email: string, code: string, from = intake): Promise<string> =>
  codeOfRefusal(door.visit(finishSignIn, { secret: await begin(email), code }, from));

describe('a second step', () => {
  test('is on only after a valid code of the app, and is then asked for after the password', async () => {
    const { email, person } = await newPerson();
    const { secret } = await door.act(proposeSecondFactor, person);
    expect(
      await codeOfRefusal(door.act(startSecondFactor, person, { secret, code: '000000' })),
    ).toBe('code_invalid');
    expect(
      await codeOfRefusal(
        door.act(startSecondFactor, person, { secret: 'A', code: codeOf('A', stepAt(bench.now)) }),
      ),
    ).toBe('code_invalid');
    expect((await door.visit(signIn, { email, password })).second_step).toBeNull();
    const { recovery_codes } = await door.act(startSecondFactor, person, {
      secret,
      code: now(secret),
    });
    expect(new Set(recovery_codes).size).toBe(10);
    expect(await door.act(showSecondFactor, person)).toMatchObject({
      on_since: new Date(bench.now).toISOString(),
      recovery_codes_left: 10,
    });
    expect(
      await codeOfRefusal(door.act(startSecondFactor, person, { secret, code: now(secret) })),
    ).toBe('second_factor_on');
    expect(await codeOfRefusal(door.act(proposeSecondFactor, person))).toBe('second_factor_on');
    const step = await begin(email);
    expect(await door.who(step)).toBeUndefined();
    const { session } = await door.visit(finishSignIn, { secret: step, code: now(secret, 1) });
    expect((await door.signedIn(session)).person.email).toBe(email);
  });

  test('takes the code of a half minute once, whether it set it up, signed in, or comes twice at once', async () => {
    const { email, person } = await newPerson();
    const { secret } = await door.act(proposeSecondFactor, person);
    await door.act(startSecondFactor, person, { secret, code: now(secret) });
    expect(await tryCode(email, now(secret))).toBe('code_invalid');
    expect(await tryCode(email, now(secret, 1))).toBe('taken');
    expect(await tryCode(email, now(secret, 1))).toBe('code_invalid');
    bench.now += 60_000;
    const steps = await Promise.all([begin(email), begin(email), begin(email)]);
    const codes = await Promise.all(
      steps.map((step) =>
        codeOfRefusal(door.visit(finishSignIn, { secret: step, code: now(secret) })),
      ),
    );
    expect(codes.toSorted()).toEqual(['code_invalid', 'code_invalid', 'taken']);
    // A code from before the last one is no better.
    expect(await tryCode(email, now(secret, -1))).toBe('code_invalid');
  });

  test('is accepted once, within ten minutes, and ends with the password', async () => {
    const { email, secret, person } = await withSecondStep();
    const step = await begin(email);
    await door.visit(finishSignIn, { secret: step, code: now(secret) });
    bench.now += 60_000;
    expect(await codeOfRefusal(door.visit(finishSignIn, { secret: step, code: now(secret) }))).toBe(
      'second_step_over',
    );
    expect(await codeOfRefusal(door.visit(finishSignIn, { secret: 'x', code: now(secret) }))).toBe(
      'second_step_over',
    );
    const late = await begin(email);
    bench.now += 10 * 60_000;
    expect(await codeOfRefusal(door.visit(finishSignIn, { secret: late, code: now(secret) }))).toBe(
      'second_step_over',
    );
    const old = await begin(email);
    await door.act(changePassword, person, { password: 'another horse' });
    expect(await codeOfRefusal(door.visit(finishSignIn, { secret: old, code: now(secret) }))).toBe(
      'second_step_over',
    );
  });

  test('stops listening after ten wrong codes, from wherever, also to the right one and to recovery codes; for a while only', async () => {
    const { email, secret, codes } = await withSecondStep();
    for (let index = 0; index < 10; index += 1)
      expect(await tryCode(email, '000000', { ...intake, address: `198.51.100.${index}` })).toBe(
        'code_invalid',
      );
    expect(await tryCode(email, now(secret))).toBe('too_many_attempts');
    expect(await tryCode(email, codes[0] ?? '')).toBe('too_many_attempts');
    bench.now += 15 * 60_000;
    expect(await tryCode(email, now(secret))).toBe('taken');
  });

  test('of a host at many accounts is refused after sixty wrong codes, also when one of its own was right', async () => {
    bench.now += 16 * 60_000;
    const host = { ...intake, address: '198.51.100.99' };
    const at = (step: string, code: string, from = host) =>
      codeOfRefusal(door.visit(finishSignIn, { secret: step, code }, from));
    for (let account = 0; account < 6; account += 1) {
      const { email, secret } = await withSecondStep();
      expect(await at(await begin(email), now(secret))).toBe('taken');
      const step = await begin(email);
      for (let index = 0; index < 9; index += 1)
        expect(await at(step, '000000')).toBe('code_invalid');
    }
    const { email, secret } = await withSecondStep();
    const step = await begin(email);
    expect(await at(step, now(secret))).toBe('too_many_attempts');
    expect(await at(step, now(secret), intake)).toBe('taken');
    bench.now += 16 * 60_000;
  });

  test('of one account refuses the codes of another', async () => {
    const [ada, eve] = [await withSecondStep(), await withSecondStep()];
    expect(await tryCode(ada.email, now(eve.secret))).toBe('code_invalid');
    expect(await tryCode(ada.email, eve.codes[0] ?? '')).toBe('code_invalid');
  });

  test('is kept by a password reset', async () => {
    const { email, person, secret } = await withSecondStep();
    const { text, fingerprint } = await createAccountSecrets(bench.sql, {
      secretKey: testSecretKey,
    }).mint('password reset');
    await bench.sql`insert into one_time_secrets (id, kind, fingerprint, user_id, expires_at)
      values (gen_random_uuid(), 'password reset', ${fingerprint}, ${person.user}, ${new Date(bench.now + 3_600_000)})`;
    const { session, second_step } = await door.visit(resetPassword, {
      secret: text,
      password: 'brand new horse',
    });
    expect(session).toBeNull();
    expect((await door.visit(signIn, { email, password: 'brand new horse' })).session).toBeNull();
    expect(
      await codeOfRefusal(door.visit(finishSignIn, { secret: second_step, code: now(secret) })),
    ).toBe('taken');
  });

  test('is turned off, and its owner gets a mail', async () => {
    const { email, person } = await withSecondStep();
    await door.act(endSecondFactor, person);
    expect(await codeOfRefusal(door.act(endSecondFactor, person))).toBe('second_factor_off');
    expect((await door.visit(signIn, { email, password })).second_step).toBeNull();
    const mails = await bench.sql<
      { about: { what: string } }[]
    >`select told as about from deliveries where recipient = ${email} and event = 'notice'`;
    expect(mails.map(({ about }) => about.what)).toEqual(['second-factor-off']);
  });

  test('is changed only after a recent sign-in', async () => {
    const { person, secret } = await withSecondStep();
    const late = { ...person, proven_at: bench.now - 15 * 60_000 };
    for (const operation of [proposeSecondFactor, replaceRecoveryCodes, endSecondFactor])
      expect(await codeOfRefusal(door.act(operation, late))).toBe('proof_needed');
    expect(
      await codeOfRefusal(door.act(startSecondFactor, late, { secret, code: now(secret) })),
    ).toBe('proof_needed');
  });
});

describe('a recovery code', () => {
  test('signs in once, however it is typed, and says how many are left', async () => {
    const { email, codes } = await withSecondStep();
    const [first = '', second = ''] = codes;
    const typed = ` ${first.toUpperCase().replace('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`;
    expect(
      await door.visit(finishSignIn, { secret: await begin(email), code: typed }),
    ).toMatchObject({ recovery_codes_left: 9 });
    expect(await tryCode(email, first)).toBe('code_invalid');
    const steps = await Promise.all([begin(email), begin(email)]);
    const both = await Promise.all(
      steps.map((step) => codeOfRefusal(door.visit(finishSignIn, { secret: step, code: second }))),
    );
    expect(both.toSorted()).toEqual(['code_invalid', 'taken']);
  });

  test('ends when new ones are made', async () => {
    const { email, person, codes } = await withSecondStep();
    const { recovery_codes: fresh } = await door.act(replaceRecoveryCodes, person);
    expect(fresh.filter((code) => codes.includes(code))).toEqual([]);
    expect(await tryCode(email, codes[0] ?? '')).toBe('code_invalid');
    expect(await tryCode(email, fresh[0] ?? '')).toBe('taken');
  });
});

describe('at rest', () => {
  test('neither secret nor codes can be read, and the secret goes under a new key with all others', async () => {
    const { person, secret, codes, email } = await withSecondStep();
    const [rows] = await bench.sql<{ text: string }[]>`select
      string_agg(f::text, ' ') as text from second_factors f`;
    const [first = ''] = codes;
    for (const shown of [secret, first, first.replace('-', '')]) {
      expect(rows?.text).not.toContain(shown);
      expect(rows?.text).not.toContain(Buffer.from(shown).toString('hex'));
    }
    await bench.secrets.rotate(bench.sql);
    const [row] = await bench.sql<
      { secret: Buffer }[]
    >`select secret from second_factors where user_id = ${person.user}`;
    expect(
      await bench.secrets.open(
        bench.sql,
        row?.secret ?? Buffer.alloc(0),
        codeSecretOf(person.user),
      ),
    ).toBe(secret);
    expect(await tryCode(email, now(secret))).toBe('taken');
  });

  test('the audit log says what was done, and no secret of it', async () => {
    const { person, secret, codes, email } = await withSecondStep();
    await tryCode(email, codes[0] ?? '');
    await door.act(replaceRecoveryCodes, person);
    await door.act(endSecondFactor, person);
    const rows = await bench.sql<{ operation: string; text: string }[]>`
      select operation, changed::text as text from audit_log where user_id = ${person.user} order by key`;
    expect(rows.map(({ operation }) => operation)).toEqual(
      expect.arrayContaining([
        'startSecondFactor',
        'signIn',
        'finishSignIn',
        'replaceRecoveryCodes',
        'endSecondFactor',
      ]),
    );
    for (const { text } of rows)
      for (const hidden of [secret, codes[0] ?? '']) expect(text).not.toContain(hidden);
  });
});
