import type { Operation, RawInput } from '../../shared/api/operation.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { createTurns } from '../../shared/base/in-turn.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import type { Caller } from '../access/caller.ts';
import type { Sql } from '../store/database.ts';
import { lockOrganisation } from '../store/organisations.ts';
import { inTransaction } from '../store/transactions.ts';
import type { Context, Instruments } from './context.ts';
import { type Answered, type Bound, installationHandlers, organisationHandlers } from './handlers.ts';
import { refuseUnlessAllowed } from './may.ts';
import { notFound } from './not-found.ts';

/** The one way to every operation, for every face. */
export type Gate = {
  /** @throws Refusal, or InvalidInput with every fault of what was sent. */
  readonly execute: (operation: Operation, caller: Caller, raw: RawInput) => Promise<Answered>;
  /** What only the operator asks for, outside any organisation. */
  readonly executeForInstallation: (operation: Operation, raw: RawInput) => Promise<Answered>;
};

type Parts = { readonly sql: Sql; readonly clock: Clock; readonly instruments: Instruments };

const named = <C extends Context>(handlers: Readonly<Record<string, Bound<C>>>, operation: Operation): Bound<C> => {
  const bound = Object.hasOwn(handlers, operation.id) ? handlers[operation.id] : undefined;
  if (bound?.operation !== operation) throw new Refusal('internal', `there is no handler of the operation ${operation.id}`);
  return bound;
};

/** Without a body and with no more than reading asked for, an operation is one statement or two that need no lock. */
const onlyLooks = ({ access, body }: Operation): boolean => access === 'read' && body === undefined;

/** may → what was sent is read → transaction with the organisation as it is now → handler → answer. */
export const createGate = ({ sql, clock, instruments }: Parts): Gate => {
  // The database's lock alone would do for the data, but everyone who waits for it there holds a connection, and one busy organisation could
  // take all of them from the others.
  const inTurn = createTurns<string>();
  return {
    execute: async (operation, caller, raw) => {
      const { read } = named(organisationHandlers, operation);
      refuseUnlessAllowed(caller, operation.access);
      const act = read(raw);
      const common = { with: instruments, caller };
      if (onlyLooks(operation)) return act({ ...common, sql, now: clock.now(), organisation: caller.organisation });
      return inTurn(caller.organisation.id, () =>
        inTransaction(sql, async (transaction) => {
          const organisation = await lockOrganisation(transaction, caller.organisation.id);
          if (!organisation) throw notFound('organisation_not_found');
          return act({ ...common, sql: transaction, now: clock.now(), organisation });
        }),
      );
    },
    executeForInstallation: async (operation, raw) => {
      const act = named(installationHandlers, operation).read(raw);
      return inTransaction(sql, (transaction) => act({ sql: transaction, now: clock.now(), with: instruments }));
    },
  };
};
