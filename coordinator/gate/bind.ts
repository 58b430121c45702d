import type { Audience, Operation, RawInput } from '../../shared/api/operation.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';
import {
  AlternateStatus,
  type Context,
  type Early,
  type OperationResult,
  type OrganisationScope,
  type OwnScope,
  type SignedOut,
} from './context.ts';

export type Answered = { readonly status?: number; readonly body?: unknown };

/** An operation with its handler. */
export type Bound<Own> = {
  readonly operation: Operation;
  /** Reads the input, and reports all faults at once. */
  readonly read: (raw: RawInput) => {
    readonly input: unknown;
    /** Runs before the transaction, and returns the work to do in it. */
    readonly prepare: (early: Early<Own>) => Promise<(context: Context & Own) => Promise<Answered>>;
  };
};

/** What a handler knows of who calls, by the audience of its operation. */
type Callers = {
  readonly organisation: OrganisationScope;
  readonly person: OwnScope;
  readonly anonymous: SignedOut;
  readonly operator: object;
  readonly installation: object;
};

/** All operations with their handlers by id, by audience. */
export type Handlers = {
  readonly [For in Audience]: Readonly<Record<string, Bound<Callers[For]>>>;
};

type InSteps<Own, Input, Output> = {
  readonly prepare: (
    early: Early<Own>,
    input: Input,
  ) => Promise<(context: Context & Own) => OperationResult<Output>>;
};

type Handler<Own, Input, Output> =
  | ((context: Context & Own, input: Input) => OperationResult<Output>)
  | InSteps<Own, Input, Output>;

type HandlerOf<Op> = Op extends Operation<string, infer Input, infer Output> & {
  readonly audience: infer For extends Audience;
}
  ? Handler<Callers[For], Input, Output>
  : never;

type HandlersOf<Contract> = {
  readonly [Name in keyof Contract as Contract[Name] extends Operation ? Name : never]: HandlerOf<
    Contract[Name]
  >;
};

/**
 * Binds every operation of a contract to the handler of its name. One that is missing, or does not
 * fit its operation, does not compile.
 */
export function bindAll<Contract extends object>(
  contract: Contract,
  handlers: HandlersOf<Contract>,
): readonly Bound<never>[] {
  const byName = new Map<string, Handler<never, never, unknown>>(Object.entries(handlers));
  return Object.entries(contract).flatMap(([name, operation]) => {
    const handler = byName.get(name);
    return handler !== undefined && isOperation(operation) ? [bind(operation, handler)] : [];
  });
}

function isOperation(value: unknown): value is Operation<string, never> {
  return isRecord(value) && 'audience' in value && 'parse' in value;
}

/** By audience. The operator's pages offer a part of what the machine itself does. */
export function handlersOf(bound: readonly Bound<never>[]): Handlers {
  // bindAll gave each operation a handler for the callers of its audience.
  const of = <For extends Audience>(...audiences: readonly For[]) =>
    Object.fromEntries(
      bound
        .filter(({ operation }) => audiences.some((each) => each === operation.audience))
        .map((each) => [each.operation.id, each]),
    ) as Record<string, Bound<Callers[For]>>;
  return {
    organisation: of('organisation'),
    person: of('person'),
    anonymous: of('anonymous'),
    operator: of('operator'),
    installation: of('installation', 'operator'),
  };
}

/**
 * For a handler that works before its transaction. Slow work such as hashing a password would hold
 * a connection and locks in it; and an attempt stays counted even when the operation is refused.
 */
export function inSteps<Own, Input, Output, Prepared>(steps: {
  readonly before: (early: Early<Own>, input: Input) => Promise<Prepared>;
  readonly act: (
    context: Context & Own,
    input: Input,
    prepared: Prepared,
  ) => OperationResult<Output>;
}): InSteps<Own, Input, Output> {
  return {
    prepare: async (early, input) => {
      const prepared = await steps.before(early, input);
      return (context) => steps.act(context, input, prepared);
    },
  };
}

function bind<Own, Input, Output>(
  operation: Operation<string, Input>,
  handler: Handler<Own, Input, Output>,
): Bound<Own> {
  return {
    operation,
    read: (raw) => {
      const input = readInput(operation, raw);
      return {
        input,
        prepare: async (early) => {
          if (typeof handler === 'function')
            return async (context) => answeredOf(await handler(context, input));
          const act = await handler.prepare(early, input);
          return async (context) => answeredOf(await act(context));
        },
      };
    },
  };
}

function readInput<Input>(operation: Operation<string, Input>, raw: RawInput): Input {
  const parsed = operation.parse(raw);
  if (!parsed.ok) throw new InvalidInput(parsed.faults);
  return parsed.value;
}

function answeredOf<Output>(answer: Output | AlternateStatus<Output>): Answered {
  return answer instanceof AlternateStatus
    ? { status: answer.status, body: answer.body }
    : { body: answer };
}
