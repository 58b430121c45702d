import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { inSteps } from '../gate/bind.ts';
import {
  type ByPerson,
  type Early,
  type OperationResult,
  type OwnScope,
  orNotFound,
} from '../gate/context.ts';
import { postMail } from '../mail/queries.ts';
import { codeSecretOf } from '../secrets/at-rest.ts';
import type * as contract from './contract.ts';
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
  type Signed,
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

export async function listPasskeys({
  sql,
  person,
  with: { baseUrl },
}: ByPerson): OperationResult<OutputOf<typeof contract.listPasskeys>> {
  return {
    items: (await passkeysOf(sql, person.user)).map(
      ({ id, name, is_synced, created_at, last_used_at }) => ({
        id,
        name,
        is_synced,
        created_at: created_at.toISOString(),
        last_used_at: last_used_at?.toISOString() ?? null,
      }),
    ),
    origin: passkeyPlace(baseUrl())?.origin ?? null,
    suggested_name: deviceOf(person.from.device),
  };
}

export async function beginPasskey(
  context: ByPerson,
): OperationResult<OutputOf<typeof contract.beginPasskey>> {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const known = await passkeysOf(sql, person.user);
  const challenge = await issueChallenge(sql, context.with, {
    purpose: 'add',
    user: person.user,
    now,
  });
  return {
    options: await creationOptions({ place, challenge }, { ...person, id: person.user }, known),
  };
}

export const addPasskey = inSteps({ before, act });

async function before(
  { with: instruments }: Early<OwnScope>,
  { name, answer }: InputOf<typeof contract.addPasskey>,
) {
  const place = placeOf(instruments);
  return { name: nameFrom(name), made: await createdPasskey(place, answer) };
}

async function act(
  context: ByPerson,
  _input: InputOf<typeof contract.addPasskey>,
  { name, made }: Awaited<ReturnType<typeof before>>,
): OperationResult<OutputOf<typeof contract.addPasskey>> {
  const { sql, now, note, person, with: instruments } = context;
  const { user } = person;
  const { challenge, ...passkey } = made;
  await takeAnswer(context, challenge, { purpose: 'add', user });
  const id = newId();
  if (
    !(await insertPasskey(sql, { ...passkey, id, name, user_id: user, created_at: new Date(now) }))
  )
    throw new Refusal('passkey_refused', 'This passkey is kept already.');
  const about = { what: 'passkey-added', detail: '' } as const;
  if (instruments.door.mail)
    await postMail(sql, { kind: 'notice', recipient: person.email, about, at: new Date(now) });
  note({ after: { passkey: name } });
  return { id, name };
}

export async function removePasskey(
  { sql, note, person }: ByPerson,
  { passkey_id: id }: InputOf<typeof contract.removePasskey>,
): OperationResult<OutputOf<typeof contract.removePasskey>> {
  const name = orNotFound(await deletePasskey(sql, person.user, id), 'passkey_not_found');
  note({ before: { passkey: name } });
  return { id, name };
}

export const proveAgain = inSteps({ before: proveAgainBefore, act: proveAgainAct });

async function proveAgainBefore(
  { pool, person, with: { attempts } }: Early<OwnScope>,
  { password }: InputOf<typeof contract.proveAgain>,
): Promise<void> {
  const tried = [{ what: `password in a session of ${person.user}`, most: 10 }];
  await attempts.count(tried);
  if (!(await verifyPassword(password, (await passwordHashOf(pool, person.user)) ?? null)))
    throw new Refusal('sign_in_failed', { password: 'is not yours.' });
  await attempts.forget(tried);
}

async function proveAgainAct({
  sql,
  now,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.proveAgain>> {
  await writeProven(sql, person.session, new Date(now));
  return { proven: true };
}

export async function beginProof(
  context: ByPerson,
): OperationResult<OutputOf<typeof contract.beginProof>> {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const own = await passkeysOf(sql, person.user);
  if (own.length === 0) throw unknownPasskey();
  const challenge = await issueChallenge(sql, context.with, {
    purpose: 'prove',
    user: person.user,
    now,
  });
  return { options: await requestOptions({ place, challenge }, own) };
}

export const proveByPasskey = inSteps({ before: byPasskeyBefore, act: byPasskeyAct });

/** Another user's passkey does not prove who signed in here. */
async function byPasskeyBefore(
  { pool, person, with: instruments }: Early<OwnScope>,
  { answer }: InputOf<typeof contract.proveByPasskey>,
): Promise<Signed> {
  const signed = await signedPasskey(pool, instruments, answer);
  if (signed.passkey.user_id !== person.user) throw unknownPasskey();
  return signed;
}

async function byPasskeyAct(
  context: ByPerson,
  _input: InputOf<typeof contract.proveByPasskey>,
  signed: Signed,
): OperationResult<OutputOf<typeof contract.proveByPasskey>> {
  const { sql, now, note, person } = context;
  await takeSigned(context, signed, { purpose: 'prove', user: person.user });
  await writeProven(sql, person.session, new Date(now));
  note({ after: { passkey: signed.passkey.name } });
  return { proven: true };
}

export async function showSecondFactor({
  sql,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.showSecondFactor>> {
  const there = await secondFactorOf(sql, person.user);
  return {
    on_since: there?.created_at.toISOString() ?? null,
    recovery_codes_left: there?.recovery_codes_left ?? 0,
  };
}

export async function proposeSecondFactor({
  sql,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.proposeSecondFactor>> {
  if (await hasSecondFactor(sql, person.user)) throw isOn();
  return { secret: newTotpSecret() };
}

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
export async function startSecondFactor(
  context: ByPerson,
  { secret, code }: InputOf<typeof contract.startSecondFactor>,
): OperationResult<OutputOf<typeof contract.startSecondFactor>> {
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
  if (!(await insertSecondFactor(sql, { user, secret: box, at: new Date(now), step })))
    throw isOn();
  note({ before: { second_factor: 'off' }, after: { second_factor: 'on' } });
  return { recovery_codes: await newCodes(context) };
}

async function newCodes({ sql, person, with: { accountSecrets } }: ByPerson): Promise<string[]> {
  const { shown, fingerprints } = await mintRecoveryCodes(accountSecrets, person.user);
  await replaceCodes(sql, person.user, fingerprints);
  return [...shown];
}

export async function replaceRecoveryCodes(
  context: ByPerson,
): OperationResult<OutputOf<typeof contract.replaceRecoveryCodes>> {
  if (!(await hasSecondFactor(context.sql, context.person.user))) throw isOff();
  return { recovery_codes: await newCodes(context) };
}

function isOff(): Refusal {
  return new Refusal('second_factor_off', 'Signing in takes no second step.');
}

export async function endSecondFactor({
  sql,
  now,
  note,
  person,
  with: { door },
}: ByPerson): OperationResult<OutputOf<typeof contract.endSecondFactor>> {
  if (!(await deleteSecondFactor(sql, person.user))) throw isOff();
  const about = { what: 'second-factor-off', detail: '' } as const;
  if (door.mail)
    await postMail(sql, { kind: 'notice', recipient: person.email, about, at: new Date(now) });
  note({ before: { second_factor: 'on' }, after: { second_factor: 'off' } });
  return { ended: true };
}
