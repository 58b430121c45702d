import type { createUser as operation } from '../../../shared/api/inner/inner-account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { hashPassword } from '../../access/access-passwords.ts';
import { emailFrom, passwordFrom, roleFrom } from '../../domain/organisation.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { insertFirstChannel } from '../../store/store-channels.ts';
import { countMembers, insertMember, insertUser } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { refuseUnlessOwner } from './operation-last-owner.ts';

export const createUser = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now } = context;
  const email = emailFrom(input.email);
  const password = passwordFrom(input.password);
  const role = roleFrom(input.role);
  refuseUnlessOwner(context, role);
  mayHaveOneMore('members', organisation.plan, await countMembers(sql, organisation.id));
  const id = newId();
  await insertUser(sql, { id, email, password_hash: await hashPassword(password) });
  await insertMember(sql, organisation.id, id, role);
  // Whoever makes the account vouches for its address.
  if (role === 'owner') await insertFirstChannel(sql, { organisation: organisation.id, email, at: new Date(now) });
  return { id, email, role };
};
