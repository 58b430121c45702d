import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A tenth of a second of a busy core is a wrong measurement to a test of time: no more files at once than the smallest machine has cores.
    maxWorkers: 2,
    globalSetup: ['test/support/services-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes when it comes: the usual second is too short for a full machine.
    expect: { poll: { timeout: 30_000 } },
  },
});
