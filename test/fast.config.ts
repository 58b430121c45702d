import { defineConfig, mergeConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * For a change in hand, within a minute: no whole networks, no processes, no browsers, nothing that waits for real time. Files share their workers:
 * to begin a worker for each costs more than what is in most of them.
 */
export default mergeConfig(
  whole,
  defineConfig({
    test: {
      isolate: false,
      exclude: [
        'test/{network,deploy,simulation,client,support,pages}/**',
        'test/coordinator/{web,faces,operator,store,house}/**',
        'test/coordinator/*.test.ts',
        // Long tales in a database, of hundreds of turns each: a third of what all the rest takes.
        'test/coordinator/alerts/alert-{teller,teller-over,gathering,rescue}.test.ts',
        'test/coordinator/operations/operations-{pagination,coming-in,second-factor}.test.ts',
        'test/coordinator/secrets/key-replacement.test.ts',
        'test/probe/{checks,spool,presence,disk}/**',
        'test/probe/*.test.ts',
        'test/shared/{client,bus,actor}/**',
        '**/node_modules/**',
      ],
    },
  }),
);
