import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { UsageFault } from '../../shared/base/env.ts';
import { lossyNumberIn } from '../../shared/base/json.ts';
import { operatorIn } from '../access/access-caller.ts';
import type { Given, OperatorCommand, OperatorFlag, OperatorParts } from './operator-command.ts';

/** What commands are made of: flags, and the ways to the gate. */

export const required = (what: string): OperatorFlag => ({ what, required: true });

export const organisation = required('id or name of the organisation');
export const email = required('e-mail address of the user');
export const id = (of: string): OperatorFlag => required(`id of the ${of}`);

export const days: OperatorFlag = { what: 'how many days back; default 7' };
export const oneOrAll: OperatorCommand['flags'] = { id: { what: 'id of the message' }, all: { what: 'every one of them', alone: true } };

/** What an operation calls otherwise than by its flag in snake case: its key and the flag. */
type Names = Readonly<Record<string, string>>;

/** What the flags say of all that the operation takes, by its own table: `--time-zone` is its time_zone. */
export const input = (given: Given, { params, query, body }: Operation, names: Names = {}): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys({ ...params, ...query, ...body?.shape }).flatMap((key) => {
      const flag = names[key] ?? key.replaceAll('_', '-');
      return given.has(flag) ? [[key, given.get(flag)]] : [];
    }),
  );

/** Done in the organisation that --organisation names; `always` is what no flag says. */
export const within =
  (operation: Operation, always: Readonly<Record<string, unknown>> = {}) =>
  async ({ gate, organisations }: OperatorParts, given: Given) => {
    const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, { ...always, ...input(given, operation) }))).body;
  };

/** Done in the organisation that owns what --id names. */
export const upon =
  (kind: 'monitor' | 'incident' | 'token' | 'channel', operation: Operation) =>
  async ({ gate, organisations }: OperatorParts, given: Given) => {
    const caller = operatorIn(await organisations.owning(kind, given.get('id') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, input(given, operation, { [`${kind}_id`]: 'id' })))).body;
  };

export const onInstallation =
  (operation: Operation, names?: Names) =>
  async ({ gate }: OperatorParts, given: Given) =>
    (await gate.executeForInstallation(operation, rawInput(operation, input(given, operation, names)))).body;

export const today = { onToday: true } as const;

/** The JSON behind --config. @throws UsageFault with such as `example`. */
export const configOf = (text: string | undefined, example: string): unknown => {
  if (text === undefined) return undefined;
  try {
    const config: unknown = JSON.parse(text);
    const lossy = lossyNumberIn(text);
    if (lossy === undefined) return config;
    throw new UsageFault(`--config: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in quotes.`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageFault(`--config is not JSON (${error.message}); write such as --config '${example}'.`);
  }
};
