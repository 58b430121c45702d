import { createInterface } from 'node:readline';

/** What a contestant is to do: so many questions for this name at any time, for so long. */
export type Order = {
  readonly resolver: string;
  readonly name: string;
  readonly expected: readonly string[];
  readonly in_flight: number;
  readonly ms: number;
};

/**
 * A line of JSON on standard input says what to do; one on standard output what came of it. Ends
 * with the input.
 */
export const answerOrders = async (perform: (order: Order) => Promise<object>): Promise<void> => {
  for await (const line of createInterface({ input: process.stdin })) {
    const order: Order = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(await perform(order))}\n`);
  }
};
