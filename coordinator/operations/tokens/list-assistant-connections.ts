import type {
  disconnectAssistant as disconnectOperation,
  getConnection as getOperation,
  listConnections as listOperation,
} from '../../../shared/api/inner/inner-assistant-connections.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { mayManage, mayWrite } from '../../domain/organisation.ts';
import { connectionPage, deleteConnection, type ListedConnection } from '../../store/store-assistant-connections.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { found } from '../operation-not-found.ts';

/** Whose connections a caller sees: everyone their own; owners, admins and the operator all. */
const whose = ({ caller }: InOrganisation): string | null => (mayManage(caller.role) ? null : caller.user);

const connectionOut =
  ({ caller }: InOrganisation) =>
  ({ id, client_name, redirect_host, scope, user_id, role, email, owner, created_at, last_used_at }: ListedConnection) => ({
    ...{ id, client: client_name, redirect_host, scope },
    may_change: scope === 'read_write' && mayWrite(role),
    owner: { email, name: owner },
    own: user_id === caller.user,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  });

export const listConnections = async (
  context: InOrganisation,
  input: InputOf<typeof listOperation>,
): Answer<OutputOf<typeof listOperation>> => {
  const { sql, organisation } = context;
  const of = whose(context);
  return pageOf(
    context.with.cursors,
    ['connections', organisation.id, of],
    input,
    (from, most) => connectionPage(sql, organisation.id, { user: of, id: null }, from ?? afterAll, most),
    connectionOut(context),
  );
};

const theConnection = async (context: InOrganisation, id: string): Promise<ListedConnection> => {
  const [row] = await connectionPage(context.sql, context.organisation.id, { user: whose(context), id }, afterAll, 1);
  return found(row, 'connection_not_found');
};

export const getConnection = async (
  context: InOrganisation,
  { connection_id }: InputOf<typeof getOperation>,
): Answer<OutputOf<typeof getOperation>> => connectionOut(context)(await theConnection(context, connection_id));

/** Everyone disconnects their own; owners and admins those of others, too. All that was given out under it ends with the row. */
export const disconnectAssistant = async (
  context: InOrganisation,
  { connection_id }: InputOf<typeof disconnectOperation>,
): Answer<OutputOf<typeof disconnectOperation>> => {
  const { client_name, redirect_host, scope, email } = await theConnection(context, connection_id);
  context.note({ before: { client: client_name, redirect_host, scope, owner: email } });
  await deleteConnection(context.sql, context.organisation.id, connection_id);
  return { id: connection_id };
};
