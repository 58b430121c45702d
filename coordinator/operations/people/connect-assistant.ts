import { connectAssistant as operation } from '../../../shared/api/inner/inner-assistant-connections.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { mayWrite, roleFrom, scopeFrom } from '../../domain/organisation.ts';
import { insertConnection } from '../../store/store-assistant-connections.ts';
import { membershipsOf } from '../../store/store-users.ts';
import type { Answer, ByPerson } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { refuseWhileEnding } from '../operation-who-may.ts';

/** The answer of the consent page. What is given out under the connection is the affair of the signing-in; it bears the connection's id. */
export const connectAssistant = async (
  { sql, person, now, note }: ByPerson,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { organisation_id: organisation, client_id, client, redirect_host } = input;
  const scope = scopeFrom(input.scope);
  const own = found(
    (await membershipsOf(sql, person.user)).find(({ id }) => id === organisation),
    'organisation_not_found',
  );
  refuseWhileEnding(own, operation);
  if (scope === 'read_write' && !mayWrite(roleFrom(own.role)))
    throw new Refusal('role_insufficient', `Your role in ${own.name}, viewer, may only look; so may an assistant of yours.`);
  const id = newId();
  note({ organisation, after: { client, redirect_host, scope } });
  await insertConnection(sql, {
    ...{ id, organisation, user: person.user, client_id, client_name: client, redirect_host, scope },
    created_at: new Date(now),
  });
  return { id, scope };
};
