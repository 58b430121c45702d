import type {
  endOtherSessions as endOtherSessionsOperation,
  endSession as endSessionOperation,
  signOut as signOutOperation,
} from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { deleteSession, deleteSessions } from '../../store/store-sessions.ts';
import type { Answer, ByPerson } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const signOut = async ({ sql, person }: ByPerson): Answer<OutputOf<typeof signOutOperation>> => ({
  ended: await deleteSession(sql, person.user, person.session),
});

export const endSession = async (
  { sql, person }: ByPerson,
  { session_id }: InputOf<typeof endSessionOperation>,
): Answer<OutputOf<typeof endSessionOperation>> => {
  if (!(await deleteSession(sql, person.user, session_id))) throw notFound('session_not_found');
  return { id: session_id, is_this: session_id === person.session };
};

export const endOtherSessions = async ({ sql, person }: ByPerson): Answer<OutputOf<typeof endOtherSessionsOperation>> => ({
  ended: await deleteSessions(sql, person.user, person.session),
});
