import type { createUser as operation } from '../../../shared/api/inner/account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { hashPassword } from '../../access/passwords.ts';
import { emailFrom, passwordFrom, roleFrom } from '../../domain/organisation.ts';
import { mayHaveOneMore } from '../../domain/plan.ts';
import { countMembers, insertMember, insertUser } from '../../store/users.ts';
import type { Answer, InOrganisation } from '../context.ts';

export const createUser = async (
  { sql, organisation }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const email = emailFrom(input.email);
  const password = passwordFrom(input.password);
  const role = roleFrom(input.role);
  mayHaveOneMore('members', organisation.plan, await countMembers(sql, organisation.id));
  const id = newId();
  await insertUser(sql, { id, email, password_hash: await hashPassword(password) });
  await insertMember(sql, organisation.id, id, role);
  return { id, email, role };
};
