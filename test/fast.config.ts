import { defineConfig, mergeConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/** For a change in hand, within a minute: no whole networks, no processes, nothing that waits for real time. */
export default mergeConfig(
  whole,
  defineConfig({
    test: {
      exclude: [
        'test/{network,deploy,simulation,client,support}/**',
        'test/coordinator/{web,faces,operator,store,house}/**',
        'test/coordinator/*.test.ts',
        'test/probe/{checks,spool,presence,disk}/**',
        'test/probe/*.test.ts',
        'test/shared/{client,bus,actor}/**',
        '**/node_modules/**',
      ],
    },
  }),
);
