import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { postMail } from '../account-mail/queries.ts';
import { handle } from '../gate/bind.ts';
import { type ByPerson, orNotFound } from '../gate/context.ts';
import { codeSecretOf } from '../secrets/at-rest.ts';
import * as contract from './contract.ts';
import {
  createdPasskey,
  creationOptions,
  deletePasskey,
  insertPasskey,
  issueChallenge,
  passkeyPlace,
  passkeysOf,
  placeOf,
  requestOptions,
  signedPasskey,
  takeAnswer,
  takeSigned,
  unknownPasskey,
} from './passkeys.ts';
import { passwordHashOf } from './queries.ts';
import {
  deleteSecondFactor,
  hasSecondFactor,
  insertSecondFactor,
  isTotpSecret,
  mintRecoveryCodes,
  newTotpSecret,
  replaceRecoveryCodes as replaceCodes,
  secondFactorOf,
  stepOfCode,
} from './second-factor.ts';
import { verifyPassword } from './secrets.ts';
import { deviceOf, writeProven } from './sessions.ts';

export const listPasskeys = handle(contract.listPasskeys)(
  async ({ sql, person, with: { baseUrl } }) => ({
    items: await passkeysOf(sql, person.user),
    origin: passkeyPlace(baseUrl())?.origin ?? null,
    suggested_name: deviceOf(person.from.device),
  }),
);

export const beginPasskey = handle(contract.beginPasskey)(async (context) => {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const known = await passkeysOf(sql, person.user);
  const challenge = await issueChallenge(sql, context.with, {
    kind: 'add passkey',
    user: person.user,
    now,
  });
  return {
    options: await creationOptions({ place, challenge }, { ...person, id: person.user }, known),
  };
});

export const addPasskey = handle(contract.addPasskey)({
  before: async ({ with: instruments }, { name, answer }) => {
    const place = placeOf(instruments);
    return { name: nameFrom(name), made: await createdPasskey(place, answer) };
  },
  act: async (context, _input, { name, made }) => {
    const { sql, now, note, person, with: instruments } = context;
    const { user } = person;
    const { challenge, ...passkey } = made;
    await takeAnswer(context, challenge, { kind: 'add passkey', user });
    const id = newId();
    if (
      !(await insertPasskey(sql, {
        ...passkey,
        id,
        name,
        user_id: user,
        created_at: now,
      }))
    )
      throw new Refusal('passkey_refused', 'This passkey is kept already.');
    const about = { what: 'passkey-added', detail: '' } as const;
    if (instruments.door.mail)
      await postMail(sql, { kind: 'notice', recipient: person.email, about, at: now });
    note({ after: { passkey: name } });
    return { id, name };
  },
});

export const removePasskey = handle(contract.removePasskey)(
  async ({ sql, note, person }, { passkey_id: id }) => {
    const name = orNotFound(await deletePasskey(sql, person.user, id), 'passkey_not_found');
    note({ before: { passkey: name } });
    return { id, name };
  },
);

export const proveAgain = handle(contract.proveAgain)({
  before: async ({ pool, person, with: { attempts } }, { password }) => {
    const tried = [{ what: `password in a session of ${person.user}`, most: 10 }];
    await attempts.count(tried);
    if (!(await verifyPassword(password, (await passwordHashOf(pool, person.user)) ?? null)))
      throw new Refusal('sign_in_failed', { password: 'is not yours.' });
    await attempts.forget(tried);
  },
  act: async ({ sql, now, person }) => {
    await writeProven(sql, person.session, now);
    return { proven: true };
  },
});

export const beginProof = handle(contract.beginProof)(async (context) => {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const own = await passkeysOf(sql, person.user);
  if (own.length === 0) throw unknownPasskey();
  const challenge = await issueChallenge(sql, context.with, {
    kind: 'prove by passkey',
    user: person.user,
    now,
  });
  return { options: await requestOptions({ place, challenge }, own) };
});

export const proveByPasskey = handle(contract.proveByPasskey)({
  /** Another user's passkey does not prove who signed in here. */
  before: async ({ pool, person, with: instruments }, { answer }) => {
    const signed = await signedPasskey(pool, instruments, answer);
    if (signed.passkey.user_id !== person.user) throw unknownPasskey();
    return signed;
  },
  act: async (context, _input, signed) => {
    const { sql, now, note, person } = context;
    await takeSigned(context, signed, { kind: 'prove by passkey', user: person.user });
    await writeProven(sql, person.session, now);
    note({ after: { passkey: signed.passkey.name } });
    return { proven: true };
  },
});

export const showSecondFactor = handle(contract.showSecondFactor)(async ({ sql, person }) => {
  const there = await secondFactorOf(sql, person.user);
  return {
    on_since: there?.created_at ?? null,
    recovery_codes_left: there?.recovery_codes_left ?? 0,
  };
});

export const proposeSecondFactor = handle(contract.proposeSecondFactor)(async ({ sql, person }) => {
  if (await hasSecondFactor(sql, person.user)) throw isOn();
  return { secret: newTotpSecret() };
});

function isOn(): Refusal {
  return new Refusal(
    'second_factor_on',
    'Two-step verification is already on. Turn it off first to set it up again.',
  );
}

/**
 * The secret comes back from the form that showed it: a caller who sends another one only chooses
 * their own.
 */
export const startSecondFactor = handle(contract.startSecondFactor)(
  async (context, { secret, code }) => {
    const { sql, now, note, person } = context;
    const { user } = person;
    const step = isTotpSecret(secret)
      ? stepOfCode(secret, code.replaceAll(/\s/g, ''), now)
      : undefined;
    if (step === undefined)
      throw new Refusal('code_invalid', {
        code: 'is not the one that your app shows now; check that the clock of your phone is right.',
      });
    const box = await context.with.secrets.seal(sql, secret, codeSecretOf(user));
    if (!(await insertSecondFactor(sql, { user, secret: box, at: now, step }))) throw isOn();
    note({ before: { second_factor: 'off' }, after: { second_factor: 'on' } });
    return { recovery_codes: await newCodes(context) };
  },
);

async function newCodes({ sql, person, with: { accountSecrets } }: ByPerson): Promise<string[]> {
  const { shown, fingerprints } = await mintRecoveryCodes(accountSecrets, person.user);
  await replaceCodes(sql, person.user, fingerprints);
  return [...shown];
}

export const replaceRecoveryCodes = handle(contract.replaceRecoveryCodes)(async (context) => {
  if (!(await hasSecondFactor(context.sql, context.person.user))) throw isOff();
  return { recovery_codes: await newCodes(context) };
});

function isOff(): Refusal {
  return new Refusal('second_factor_off', 'Signing in takes no second step.');
}

export const endSecondFactor = handle(contract.endSecondFactor)(
  async ({ sql, now, note, person, with: { door } }) => {
    if (!(await deleteSecondFactor(sql, person.user))) throw isOff();
    const about = { what: 'second-factor-off', detail: '' } as const;
    if (door.mail) await postMail(sql, { kind: 'notice', recipient: person.email, about, at: now });
    note({ before: { second_factor: 'on' }, after: { second_factor: 'off' } });
    return { ended: true };
  },
);
