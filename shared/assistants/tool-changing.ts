import { operations } from '../api/api-index.ts';
import type { Around, Row, Told, Tool } from './tool.ts';
import { toldAsJson } from './tool-answers.ts';

/** Tools that change something. */

type Values = Readonly<Record<string, unknown>>;

/** For what answers nothing: says in a sentence that it is done. */
export const done =
  (sentence: string) =>
  async ({ ask }: Around, given: Values, { operation }: Pick<Tool, 'operation'>): Promise<Told> => {
    await ask(operation, given);
    return { texts: [sentence] };
  };

/** A change of a monitor that the tool's name says already. */
export const withFixed = (fixed: Values): Pick<Row, 'effect' | 'idempotent' | 'without' | 'run'> => ({
  effect: 'changes',
  idempotent: true,
  without: Object.keys(operations.updateMonitor.body?.shape ?? {}),
  run: async ({ ask }, given, { operation }) => toldAsJson(await ask(operation, { ...given, ...fixed })),
});
