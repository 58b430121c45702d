import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { mayManage, mayWrite, roleFrom, scopeFrom } from '../gate/caller.ts';
import { type InOrganisation, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { refuseWhileEnding } from '../gate/roles.ts';
import { openedBy } from '../people/sessions.ts';
import * as contract from './contract.ts';
import {
  connectionPage,
  deleteConnection,
  insertConnection,
  type ListedConnection,
} from './queries.ts';

/**
 * The answer of the consent page. The sign-in handles what is issued under the connection; it
 * carries the connection's id.
 */
export const connectAssistant = handle(contract.connectAssistant)(
  async ({ sql, person, now, note }, input) => {
    const { organisation_id: organisation, client_id, client, redirect_host } = input;
    const scope = scopeFrom(input.scope);
    const own = orNotFound(await openedBy(sql, person, organisation), 'organisation_not_found');
    refuseWhileEnding(own, contract.connectAssistant);
    if (scope === 'read_write' && !mayWrite(roleFrom(own.role)))
      throw new Refusal(
        'role_insufficient',
        `Your role in ${own.name}, viewer, may only look; so may an assistant of yours.`,
      );
    const id = newId();
    note({ organisation, after: { client, redirect_host, scope } });
    await insertConnection(sql, {
      id,
      organisation,
      user: person.user,
      client_id,
      client_name: client,
      redirect_host,
      scope,
      created_at: now,
    });
    return { id, scope };
  },
);

export const listConnections = handle(contract.listConnections)(async (context, input) => {
  const { sql, organisation } = context;
  const of = whose(context);
  return pageOf(
    context.with.cursors,
    ['connections', organisation.id, of],
    input,
    (from, limit) =>
      connectionPage(sql, organisation.id, { user: of, id: null }, from ?? afterAll, limit),
    connectionJson(context),
  );
});

/** Which connections a caller sees: everyone their own; owners, admins and the operator all. */
function whose({ caller }: InOrganisation): string | null {
  return mayManage(caller.role) ? null : caller.user;
}

function connectionJson({ caller }: InOrganisation) {
  return (row: ListedConnection) => ({
    ...row,
    may_change: row.scope === 'read_write' && mayWrite(row.role),
    owner: { email: row.email, name: row.owner },
    own: row.user_id === caller.user,
  });
}

export const getConnection = handle(contract.getConnection)(async (context, { connection_id }) =>
  connectionJson(context)(await theConnection(context, connection_id)),
);

async function theConnection(context: InOrganisation, id: string): Promise<ListedConnection> {
  const [row] = await connectionPage(
    context.sql,
    context.organisation.id,
    { user: whose(context), id },
    afterAll,
    1,
  );
  return orNotFound(row, 'connection_not_found');
}

/**
 * Everyone may disconnect their own; owners and admins those of others, too. Everything issued
 * under a connection ends with its row.
 */
export const disconnectAssistant = handle(contract.disconnectAssistant)(
  async (context, { connection_id }) => {
    const { client, redirect_host, scope, email } = await theConnection(context, connection_id);
    context.note({ before: { client, redirect_host, scope, owner: email } });
    await deleteConnection(context.sql, context.organisation.id, connection_id);
    return { id: connection_id };
  },
);
