import type { Operation, RawInput } from '../../shared/api/operation.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import { AlternateStatus, type Answer, type Context, type Early, type Oneself, type Place, type SignedOut } from './context.ts';

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

/**
 * All handlers, by kind of caller: in an organisation, for oneself, signed out, as the operator of
 * the installation.
 */
export type Handlers = {
  readonly organisation: Readonly<Record<string, Bound<Place>>>;
  readonly person: Readonly<Record<string, Bound<Oneself>>>;
  readonly visitor: Readonly<Record<string, Bound<SignedOut>>>;
  /** What a signed-in operator may do on pages. */
  readonly operator: Readonly<Record<string, Bound<object>>>;
  /** What the operator's commands may do outside any organisation. */
  readonly installation: Readonly<Record<string, Bound<object>>>;
};

const answeredOf = <Output>(answer: Output | AlternateStatus<Output>): Answered =>
  answer instanceof AlternateStatus ? { status: answer.status, body: answer.body } : { body: answer };

const readInput = <Input>(operation: Operation<string, Input>, raw: RawInput): Input => {
  const parsed = operation.parse(raw);
  if (!parsed.ok) throw new InvalidInput(parsed.faults);
  return parsed.value;
};

/** Here the handler's types meet the operation's: a handler that does not fit does not compile. */
export const bind = <Own, Input, Output>(
  operation: Operation<string, Input, Output>,
  handler: (context: Context & Own, input: Input) => Answer<Output>,
): Bound<Own> => ({
  operation,
  read: (raw) => {
    const input = readInput(operation, raw);
    return { input, prepare: async () => async (context) => answeredOf(await handler(context, input)) };
  },
});

/**
 * For a handler that works before its transaction. Slow work such as hashing a password would hold
 * a connection and locks in it; and an attempt stays counted even when the operation is refused.
 */
export const bindInSteps = <Own, Input, Output, Prepared>(
  operation: Operation<string, Input, Output>,
  steps: {
    readonly before: (early: Early<Own>, input: Input) => Promise<Prepared>;
    readonly act: (context: Context & Own, input: Input, prepared: Prepared) => Answer<Output>;
  },
): Bound<Own> => ({
  operation,
  read: (raw) => {
    const input = readInput(operation, raw);
    return {
      input,
      prepare: async (early) => {
        const prepared = await steps.before(early, input);
        return async (context) => answeredOf(await steps.act(context, input, prepared));
      },
    };
  },
});
