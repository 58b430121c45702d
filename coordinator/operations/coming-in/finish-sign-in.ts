import type { finishSignIn as operation } from '../../../shared/api/inner/inner-coming-in.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hostOf } from '../../access/access-attempts.ts';
import { recoveryFingerprint } from '../../access/access-recovery-codes.ts';
import { codeSecretOf } from '../../access/access-secrets-at-rest.ts';
import { stepOfCode } from '../../access/access-totp.ts';
import {
  deleteSecondStep,
  hasRecoveryCode,
  secondFactorOf,
  secondStepBy,
  takeRecoveryCode,
  takeStep,
} from '../../store/store-second-factors.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';

type Code = { readonly step: number } | { readonly recovery: Buffer };
type Prepared = { readonly user: string; readonly fingerprint: Buffer; readonly code: Code; readonly left: number };

const over = (): Refusal => new Refusal('second_step_over', 'This took too long, or was done already; sign in anew.');
const wrong = (): Refusal => new Refusal('code_invalid', 'code: is wrong, or was used already.');

const codeFrom = async (
  { pool, now, with: { accountSecrets, secrets } }: Early<AtTheDoor>,
  user: string,
  typed: string,
): Promise<{ readonly code: Code; readonly left: number } | undefined> => {
  const there = await secondFactorOf(pool, user);
  if (!there) throw over();
  const step = stepOfCode(await secrets.open(pool, there.secret, codeSecretOf(user)), typed.replaceAll(/\s/g, ''), now);
  const left = there.recovery_codes_left;
  if (step !== undefined) return step > there.last_step ? { code: { step }, left } : undefined;
  const recovery = await recoveryFingerprint(accountSecrets, user, typed);
  return recovery && (await hasRecoveryCode(pool, user, recovery)) ? { code: { recovery }, left } : undefined;
};

/** For the account, from wherever: who guesses here has the password already, and six digits are soon through from many hosts. */
const before = async (early: Early<AtTheDoor>, { secret, code: typed }: InputOf<typeof operation>): Promise<Prepared> => {
  const { pool, now, visitor } = early;
  const { accountSecrets, attempts } = early.with;
  const fingerprint = await accountSecrets.fingerprint('second step', secret);
  const user = await secondStepBy(pool, fingerprint, new Date(now));
  if (user === undefined) throw over();
  const ofAccount = { what: `second step of ${user}`, most: 10 };
  await attempts.count([ofAccount, { what: `second steps from ${hostOf(visitor.address)}`, most: 60 }]);
  const found = await codeFrom(early, user, typed);
  if (!found) throw wrong();
  await attempts.forget([ofAccount]);
  return { user, fingerprint, ...found };
};

const act = async (
  context: ByVisitor,
  _input: InputOf<typeof operation>,
  { user, fingerprint, code, left }: Prepared,
): Answer<OutputOf<typeof operation>> => {
  const { sql } = context;
  if (!(await deleteSecondStep(sql, fingerprint))) throw over();
  const isTaken = 'step' in code ? await takeStep(sql, user, code.step) : await takeRecoveryCode(sql, user, code.recovery);
  if (!isTaken) throw wrong();
  return { session: await beginSession(context, user), recovery_codes_left: 'recovery' in code ? left - 1 : null };
};

export const finishSignIn = { before, act };
