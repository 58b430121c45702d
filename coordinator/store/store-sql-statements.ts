/** A statement that is written and not sent. Only `execute` sends it. */
export type Statement = PromiseLike<unknown> & {
  readonly execute: () => PromiseLike<unknown>;
  readonly describe: () => PromiseLike<unknown>;
};

/** Sends them one behind the other, without waiting between them; they run in this order. */
export const executeAll = async (statements: readonly Statement[]): Promise<void> => {
  await Promise.all(statements.map((statement) => statement.execute()));
};
