import { isReadOnly, type Operation, type RawInput, redact } from '../../shared/api/operation.ts';
import { createTurns } from '../../shared/base/async.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql, Transaction } from '../database/connect.ts';
import { inSavepoint, inTransaction } from '../database/sql.ts';
import { type AuditEntry, insertAudit } from './audit.ts';
import type { Answered, Bound, Handlers } from './bind.ts';
import type { AnonymousCaller, Caller, Person } from './caller.ts';
import {
  type AuditDetails,
  type Context,
  differences,
  type GateDependencies,
  notFound,
  type OrganisationScope,
  type Performed,
} from './context.ts';
import {
  type CallTransaction,
  createOnce,
  type Named,
  type Outcome,
  plainly,
} from './idempotency.ts';
import { isOperator, lockOperator, lockUser } from './records.ts';
import {
  refuseUnlessAllowed,
  refuseUnlessProven,
  refuseWhileEnding,
  refuseWithin,
} from './roles.ts';

/** The actor as the audit log records it. */
type Actor = Pick<
  AuditEntry,
  'organisation' | 'user' | 'who' | 'through' | 'token_name' | 'address'
>;

type Values = Readonly<Record<string, unknown>>;

/**
 * Writes the audit entry of one operation. The handler's own before and after take precedence over
 * the input. Neither contains secrets.
 */
async function writeAudit(
  sql: Queryable,
  done: {
    readonly at: number;
    readonly actor: Actor;
    readonly operation: string;
    readonly about: Values;
    readonly sent: unknown;
    readonly noted: AuditDetails;
    readonly answered: Answered;
  },
): Promise<void> {
  const { at, actor, operation, about, sent, noted, answered } = done;
  const isNoted = noted.before !== undefined || noted.after !== undefined;
  await insertAudit(sql, {
    ...actor,
    user: noted.user ?? actor.user,
    organisation: noted.organisation ?? actor.organisation,
    at,
    operation,
    changed: {
      about: { ...idIn(answered.body), ...about },
      ...(isNoted ? differences(noted.before, noted.after) : { sent: redact(sent) }),
    },
  });
}

function idIn(body: unknown): Values {
  return isRecord(body) && typeof body.id === 'string' ? { id: body.id } : {};
}

/** The one way to every operation, for the API, the pages, the command line and assistants. */
export type Gate = {
  /** @throws Refusal, or InvalidInput with every fault of the input. */
  readonly execute: (operation: Operation, caller: Caller, raw: RawInput) => Promise<Answered>;
  /**
   * Like execute, for a caller who may repeat the call: under one key it is done once in 24 hours,
   * and then answered as before. @throws as execute.
   */
  readonly executeOnce: (
    operation: Operation,
    caller: Caller,
    raw: RawInput,
    named: Named,
  ) => Promise<Outcome>;
  /** For a user's own data, whatever organisation they act in. */
  readonly executeForPerson: (
    operation: Operation,
    person: Person,
    raw: RawInput,
  ) => Promise<Answered>;
  /** For callers who are not signed in, such as signing in. */
  readonly executeForVisitor: (
    operation: Operation,
    visitor: AnonymousCaller,
    raw: RawInput,
  ) => Promise<Answered>;
  /**
   * For installation-wide operations of users that the operator marked; for anyone else they do not
   * exist.
   */
  readonly executeForOperator: (
    operation: Operation,
    person: Person,
    raw: RawInput,
  ) => Promise<Answered>;
  /** For the operator alone, outside any organisation. */
  readonly executeForInstallation: (operation: Operation, raw: RawInput) => Promise<Answered>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly instruments: GateDependencies;
  readonly handlers: Handlers;
};

function named<Own>(
  handlers: Readonly<Record<string, Bound<Own>>>,
  operation: Operation,
): Bound<Own> {
  const bound = Object.hasOwn(handlers, operation.id) ? handlers[operation.id] : undefined;
  if (bound?.operation !== operation)
    throw new Refusal('internal', `there is no handler of the operation ${operation.id}`);
  return bound;
}

const atPage = { organisation: null, through: 'page', token_name: null } as const;
const operator: Actor = {
  organisation: null,
  user: null,
  who: 'operator',
  through: 'operator',
  token_name: null,
  address: null,
};

const ignored = (): void => undefined;

/**
 * permission → read the input → work before the transaction → transaction with the organisation as
 * it is now → handler → audit entry → answer.
 */
export function createGate({ sql, clock, instruments, handlers }: Dependencies): Gate {
  // The database's lock would suffice for the data. But every caller that waits for it there holds
  // a connection, and one busy organisation could take all of them from the others.
  const inTurn = createTurns<string>();

  const once = createOnce({ sql, clock, ...instruments });

  /**
   * Reads the input. The returned function runs the operation, and writes an audit entry unless it
   * is read-only.
   */
  const begin = async <Own>(
    among: Readonly<Record<string, Bound<Own>>>,
    { operation, raw, actor, own }: { operation: Operation; raw: RawInput; actor: Actor; own: Own },
    stepsOf: (on: Transaction, own: Own) => Context['perform'] = () => noSteps,
  ) => {
    const { input, prepare } = named(among, operation).read(raw);
    const act = await prepare({ ...own, with: instruments, pool: sql, sql, now: clock.now() });
    return async (on: Sql | Transaction, ownNow: Own = own): Promise<Answered> => {
      const now = clock.now();
      const looks = isReadOnly(operation);
      let noted: AuditDetails = {};
      const note = looks
        ? ignored
        : (add: AuditDetails) => {
            noted = { ...noted, ...add };
          };
      const answered = await act({
        ...ownNow,
        with: instruments,
        sql: on,
        now,
        note,
        perform: 'session' in on ? stepsOf(on, ownNow) : noSteps,
      });
      if (!looks)
        await writeAudit(on, {
          at: now,
          actor,
          operation: operation.id,
          about: raw.path ?? {},
          sent: input,
          noted,
          answered,
        });
      return answered;
    };
  };

  /** Steps that an operation of an organisation takes in its own transaction. */
  const steps =
    (on: Transaction, own: OrganisationScope): Context['perform'] =>
    async (operation, raw) => {
      const now = clock.now();
      refuseUnlessAllowed(own.caller, operation, now);
      const { input, prepare } = named(handlers.organisation, operation).read(raw);
      return inSavepoint(on, async (part) => {
        const act = await prepare({ ...own, with: instruments, pool: sql, sql: part, now });
        let noted: AuditDetails = {};
        const note = (add: AuditDetails): void => {
          noted = { ...noted, ...add };
        };
        const perform = steps(part, own);
        const answered = await act({ ...own, with: instruments, sql: part, now, note, perform });
        const changed = changesOf(noted, input);
        if (changed !== undefined)
          await writeAudit(part, {
            at: now,
            actor: actorOf(own.caller),
            operation: operation.id,
            about: raw.path ?? {},
            sent: input,
            noted,
            answered,
          });
        return { result: { body: answered.body, changed }, stays: changed !== undefined };
      });
    };

  const perform = async (
    operation: Operation,
    caller: Caller,
    raw: RawInput,
    { lock, conclude }: CallTransaction,
  ): Promise<Answered> => {
    const own = { caller, organisation: caller.organisation };
    const run = await begin(
      handlers.organisation,
      { operation, raw, actor: actorOf(caller), own },
      steps,
    );
    if (isReadOnly(operation)) return run(sql);
    return inTurn(caller.organisation.id, () =>
      inTransaction(sql, async (transaction) => {
        const organisation = await lock(transaction, caller.organisation.id);
        if (!organisation) throw notFound('organisation_not_found');
        refuseWhileEnding(organisation, operation);
        const answered = await run(transaction, { caller, organisation });
        await conclude(transaction, answered);
        return answered;
      }),
    );
  };

  return {
    execute: async (operation, caller, raw) => {
      refuseUnlessAllowed(caller, operation, clock.now());
      return perform(operation, caller, raw, plainly);
    },
    executeOnce: async (operation, caller, raw, named) => {
      refuseUnlessAllowed(caller, operation, clock.now());
      // A read-only operation can be repeated as often as the caller likes.
      if (isReadOnly(operation))
        return { replayed: false, answered: await perform(operation, caller, raw, plainly) };
      const by = `${caller.is} ${caller.token?.id ?? caller.connection?.id ?? caller.user ?? ''}`;
      return once({ ...named, organisation: caller.organisation.id, by }, (manner) =>
        perform(operation, caller, raw, manner),
      );
    },
    executeForPerson: async (operation, person, raw) => {
      refuseUnlessProven(operation, person, clock.now());
      refuseWithin(operation, person);
      const actor = {
        ...atPage,
        user: person.user,
        who: person.email,
        address: person.from.address,
      };
      const run = await begin(handlers.person, { operation, raw, actor, own: { person } });
      if (isReadOnly(operation)) return run(sql);
      return inTransaction(sql, async (transaction) => {
        if (!(await lockUser(transaction, person.user)))
          throw new Refusal('session_missing', 'You are not signed in any more.');
        return run(transaction);
      });
    },
    executeForVisitor: async (operation, visitor, raw) => {
      const actor = { ...atPage, user: null, who: '', address: visitor.address };
      const run = await begin(handlers.anonymous, { operation, raw, actor, own: { visitor } });
      return inTransaction(sql, (transaction) => run(transaction));
    },
    executeForOperator: async (operation, person, raw) => {
      // Read afresh, whatever the caller claims, and before anything is said about the input.
      if (person.within !== undefined || !(await isOperator(sql, person))) throw nothingHere();
      refuseUnlessProven(operation, person, clock.now());
      const actor = {
        ...atPage,
        user: person.user,
        who: person.email,
        address: person.from.address,
      };
      const run = await begin(handlers.operator, { operation, raw, actor, own: {} });
      if (isReadOnly(operation)) return run(sql);
      return inTransaction(sql, async (transaction) => {
        if (!(await lockOperator(transaction, person))) throw nothingHere();
        return run(transaction);
      });
    },
    executeForInstallation: async (operation, raw) => {
      const run = await begin(handlers.installation, { operation, raw, actor: operator, own: {} });
      return inTransaction(sql, (transaction) => run(transaction));
    },
  };
}

function noSteps(): Promise<never> {
  return Promise.reject(new Refusal('internal', 'only an operation of an organisation has steps'));
}

/** What a step changed; undefined when its states before and after are the same. */
function changesOf({ before, after }: AuditDetails, sent: unknown): Performed['changed'] {
  if (before === undefined && after === undefined)
    return { before: undefined, after: isRecord(sent) ? { sent: redact(sent) } : {} };
  const changed = differences(before, after);
  const isSame = [changed.before, changed.after].every(
    (part) => isRecord(part) && Object.keys(part).length === 0,
  );
  return isSame ? undefined : changed;
}

const through = {
  token: 'api',
  session: 'page',
  connector: 'assistant',
  operator: 'operator',
} as const satisfies Record<Caller['is'], string>;

function actorOf({ is, organisation, user, token, connection, address }: Caller): Actor {
  return {
    organisation: organisation.id,
    user,
    through: through[is],
    // A ping key belongs to nobody.
    who: is === 'operator' ? 'operator' : user === null ? (token?.name ?? '') : '',
    token_name: token?.name ?? connection?.client ?? null,
    address: address ?? null,
  };
}

function nothingHere(): Refusal {
  return new Refusal('route_not_found', 'No such route.');
}
