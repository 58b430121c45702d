import {
  type InputOf,
  type Operation,
  type OutputOf,
  type RawInput,
  rawInput,
} from '../../shared/api/operation.ts';
import type { Answered } from '../gate/bind.ts';
import type { Caller } from '../gate/caller.ts';
import type { Gate } from '../gate/execute.ts';
import type { Form } from './form-data.ts';
import type { Ask } from './page.ts';

type Execute = (operation: Operation, raw: RawInput) => Promise<Answered>;

/** Asks operations for a caller; those of a form with a key once, however often it is sent. */
export function asksOf(gate: Pick<Gate, 'execute' | 'executeOnce'>, caller: Caller, form: Form) {
  return asking(
    form.key === undefined
      ? (operation, raw) => gate.execute(operation, caller, raw)
      : executingOnce(gate, caller, form),
  );
}

export function asking(execute: Execute): Ask {
  return async <Op extends Operation>(
    operation: Op,
    input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
  ) =>
    // The gate's handlers are typed by their operations; a table of different operations cannot
    // express that.
    (await execute(operation, rawInput(operation, input))).body as OutputOf<Op>;
}

/** What a page and its frame both read without an input is read once. */
export function askingOnce(ask: Ask): Ask {
  const answers = new Map<Operation, Promise<unknown>>();
  return <Op extends Operation>(
    operation: Op,
    input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
  ) => {
    if (input !== undefined) return ask(operation, input);
    const answer = answers.get(operation) ?? ask(operation);
    answers.set(operation, answer);
    // As in asking().
    return answer as Promise<OutputOf<Op>>;
  };
}

/** A browser may send a form again; each operation of it then gets its first answer again. */
function executingOnce(gate: Pick<Gate, 'executeOnce'>, caller: Caller, form: Form): Execute {
  const request = JSON.stringify(form.names.map((name) => [name, form.values(name)]));
  const calls = new Map<string, number>();
  return async (operation, raw) => {
    const call = (calls.get(operation.id) ?? 0) + 1;
    calls.set(operation.id, call);
    const key = `form ${form.key} ${operation.id} ${call}`;
    const outcome = await gate.executeOnce(operation, caller, raw, { key, request });
    if ('refused' in outcome) throw outcome.refused;
    return outcome.answered;
  };
}
