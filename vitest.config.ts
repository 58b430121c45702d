import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Most files wait for something most of the time, so that a third one fits on two cores; more would make of a busy tenth of a second a wrong measurement.
    maxWorkers: 3,
    globalSetup: ['test/support/services-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What is waited for comes when it comes: the usual second is too short for a full machine.
    expect: { poll: { timeout: 30_000 } },
  },
});
