import type { proveAgain as operation } from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { verifyPassword } from '../../access/access-passwords.ts';
import { writeProven } from '../../store/store-sessions.ts';
import { passwordHashOf } from '../../store/store-users.ts';
import type { Answer, ByPerson, Early, Oneself } from '../operation-context.ts';

const before = async ({ pool, person, with: { attempts } }: Early<Oneself>, { password }: InputOf<typeof operation>): Promise<void> => {
  const tried = [{ what: `password in a session of ${person.user}`, most: 10 }];
  await attempts.count(tried);
  if (!(await verifyPassword(password, (await passwordHashOf(pool, person.user)) ?? null)))
    throw new Refusal('sign_in_failed', 'password: is not yours.');
  await attempts.forget(tried);
};

const act = async ({ sql, now, person }: ByPerson): Answer<OutputOf<typeof operation>> => {
  await writeProven(sql, person.session, new Date(now));
  return { proven: true };
};

export const proveAgain = { before, act };
