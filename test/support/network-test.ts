import { test as plain } from 'vitest';
import { createNetwork } from './network.ts';

/** For test files: tests with a network of their own, which ends with them, and a target in it. */
export const test = plain
  .extend('network', async ({ task: _ }, { onCleanup }) => {
    const network = await createNetwork();
    onCleanup(network.close);
    return network;
  })
  .extend('target', ({ network }) => network.startTarget());
