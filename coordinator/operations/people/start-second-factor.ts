import type {
  endSecondFactor as endOperation,
  proposeSecondFactor as proposeOperation,
  replaceRecoveryCodes as replaceOperation,
  showSecondFactor as showOperation,
  startSecondFactor as startOperation,
} from '../../../shared/api/inner/inner-second-factor.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { mintRecoveryCodes } from '../../access/access-recovery-codes.ts';
import { codeSecretOf } from '../../access/access-secrets-at-rest.ts';
import { isTotpSecret, newTotpSecret, stepOfCode } from '../../access/access-totp.ts';
import { postMail } from '../../store/store-mails.ts';
import {
  deleteSecondFactor,
  hasSecondFactor,
  insertSecondFactor,
  replaceRecoveryCodes as replaceCodes,
  secondFactorOf,
} from '../../store/store-second-factors.ts';
import type { Answer, ByPerson } from '../operation-context.ts';

const isOn = (): Refusal => new Refusal('second_factor_on', 'Signing in takes two steps already; turn that off first to set it up anew.');
const isOff = (): Refusal => new Refusal('second_factor_off', 'Signing in takes no second step.');

export const showSecondFactor = async ({ sql, person }: ByPerson): Answer<OutputOf<typeof showOperation>> => {
  const there = await secondFactorOf(sql, person.user);
  return { on_since: there?.created_at.toISOString() ?? null, recovery_codes_left: there?.recovery_codes_left ?? 0 };
};

export const proposeSecondFactor = async ({ sql, person }: ByPerson): Answer<OutputOf<typeof proposeOperation>> => {
  if (await hasSecondFactor(sql, person.user)) throw isOn();
  return { secret: newTotpSecret() };
};

const newCodes = async ({ sql, person, with: { accountSecrets } }: ByPerson): Promise<string[]> => {
  const { shown, fingerprints } = await mintRecoveryCodes(accountSecrets, person.user);
  await replaceCodes(sql, person.user, fingerprints);
  return [...shown];
};

/** The secret comes back from the form that showed it: who sends another one only chooses their own. */
export const startSecondFactor = async (
  context: ByPerson,
  { secret, code }: InputOf<typeof startOperation>,
): Answer<OutputOf<typeof startOperation>> => {
  const { sql, now, note, person } = context;
  const { user } = person;
  const step = isTotpSecret(secret) ? stepOfCode(secret, code.replaceAll(/\s/g, ''), now) : undefined;
  if (step === undefined)
    throw new Refusal('code_invalid', 'code: is not the one that your app shows now; check that the clock of your phone is right.');
  const box = await context.with.secrets.seal(sql, secret, codeSecretOf(user));
  if (!(await insertSecondFactor(sql, { user, secret: box, at: new Date(now), step }))) throw isOn();
  note({ before: { second_factor: 'off' }, after: { second_factor: 'on' } });
  return { recovery_codes: await newCodes(context) };
};

export const replaceRecoveryCodes = async (context: ByPerson): Answer<OutputOf<typeof replaceOperation>> => {
  if (!(await hasSecondFactor(context.sql, context.person.user))) throw isOff();
  return { recovery_codes: await newCodes(context) };
};

export const endSecondFactor = async ({ sql, now, note, person, with: { door } }: ByPerson): Answer<OutputOf<typeof endOperation>> => {
  if (!(await deleteSecondFactor(sql, person.user))) throw isOff();
  const about = { what: 'second-factor-off', detail: '' } as const;
  if (door.mail) await postMail(sql, { kind: 'notice', recipient: person.email, about, at: new Date(now) });
  note({ before: { second_factor: 'on' }, after: { second_factor: 'off' } });
  return { ended: true };
};
