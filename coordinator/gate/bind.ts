import {
  type Audience,
  InvalidInput,
  type Operation,
  type RawInput,
} from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';
import { type Answerable, written } from './answer.ts';
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
export type Bound<Own, Id extends string = string> = {
  readonly operation: Operation<Id>;
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

type HandlersOf<Contract> = {
  readonly [Name in keyof Contract as Contract[Name] extends Operation
    ? Name
    : never]: Contract[Name] extends Operation<infer Id> & {
    readonly audience: infer For extends Audience;
  }
    ? Bound<Callers[For], Id>
    : never;
};

/** All handlers of a contract. An operation without one of its name does not compile. */
export function bindAll<Contract extends object>(
  handlers: HandlersOf<Contract>,
): readonly Bound<never>[] {
  const exported: readonly unknown[] = Object.values(handlers);
  return exported.filter(isBound);
}

function isBound(value: unknown): value is Bound<never> {
  return (
    (typeof value === 'function' || isRecord(value)) && 'operation' in value && 'read' in value
  );
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

type Act<Own, Input, Answer, Prepared extends readonly unknown[] = []> = (
  context: Context & Own,
  input: Input,
  ...prepared: Prepared
) => Promise<Answer>;

type Steps<Own, Input, Answer, Prepared> = {
  readonly before: (early: Early<Own>, input: Input) => Promise<Prepared>;
  readonly act: Act<Own, Input, Answer, [prepared: Prepared]>;
};

/**
 * The handler of an operation: `handle(api.getThing)(async (context, input) => …)`. Two calls,
 * because the compiler must know the operation before it reads the function, whose answer is
 * checked by it.
 */
export function handle<For extends Audience, Id extends string, Input, Output>(
  operation: Operation<Id, Input, Output> & { readonly audience: For },
) {
  type Own = Callers[For];
  type Success = Answerable<Output> | AlternateStatus<Answerable<Output>>;

  /**
   * For one that works before its transaction. Slow work such as hashing a password would hold a
   * connection and locks in it; and an attempt stays counted even when the operation is refused.
   */
  function by<Prepared>(steps: Steps<Own, Input, Success, Prepared>): Bound<Own, Id>;
  /** Other handlers may call it as a part of theirs. */
  function by<Answer extends Success>(
    act: Act<Own, Input, Answer>,
  ): Act<Own, Input, Answer> & Bound<Own, Id>;
  function by<Prepared>(given: Steps<Own, Input, Success, Prepared> | Act<Own, Input, Success>) {
    if (typeof given === 'function')
      return Object.assign(
        given,
        bind(operation, async (_early: Early<Own>, input) => (context) => given(context, input)),
      );
    return bind(operation, async (early: Early<Own>, input) => {
      const prepared = await given.before(early, input);
      return (context) => given.act(context, input, prepared);
    });
  }
  return by;
}

function bind<Own, Id extends string, Input, Output>(
  operation: Operation<Id, Input, Output>,
  prepare: (
    early: Early<Own>,
    input: Input,
  ) => Promise<(context: Context & Own) => OperationResult<Answerable<Output>>>,
): Bound<Own, Id> {
  return {
    operation,
    read: (raw) => {
      const input = readInput(operation, raw);
      return {
        input,
        prepare: async (early) => {
          const act = await prepare(early, input);
          return async (context) => answeredOf(operation, await act(context));
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

/** What the contract does not know is left out. */
function answeredOf({ response }: Operation, answer: unknown): Answered {
  const { status, body } =
    answer instanceof AlternateStatus ? answer : { status: undefined, body: answer };
  return {
    ...(status === undefined ? {} : { status }),
    body: response ? written(response, body) : body,
  };
}
