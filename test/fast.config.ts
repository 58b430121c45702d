import { defineConfig, mergeConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * For a change in hand, within a minute: no whole networks, no processes, no browsers, nothing that
 * waits for real time.
 */
export default mergeConfig(
  whole,
  defineConfig({
    test: {
      exclude: [
        'test/{network,deploy,simulation,client,support,pages}/**',
        'test/coordinator/*.test.ts',
        'test/coordinator/{api,assistants,database,housekeeping,operator,web}/**',
        'test/coordinator/**/{pages,public}/**',
        'test/coordinator/**/{*-page,pages}.test.ts',
        'test/coordinator/health/{endpoint,metrics}.test.ts',
        'test/coordinator/{backups/*,heartbeats/forwarded,organisations/endings}.test.ts',
        // Long stories in a database, of hundreds of turns each: a third of what all the rest
        // takes.
        'test/coordinator/notifications/{gathering,notifier}.test.ts',
        'test/coordinator/{gate/pagination,people/second-factor,people/sign-in,people/sign-up,secrets/key-replacement}.test.ts',
        'test/probe/{checks,disk,presence,spool}/**',
        'test/probe/*.test.ts',
        'test/shared/{actor,bus,client}/**',
        '**/node_modules/**',
      ],
    },
  }),
);
