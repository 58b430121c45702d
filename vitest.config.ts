import { configDefaults, defineConfig } from 'vitest/config';

/**
 * `npm test`: the main story of every promise. What takes minutes or is about real limits of time is
 * in files named `*.long.test.ts`, which `npm run test:long` runs.
 */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/**/*.long.test.ts'],
    // Most files wait most of the time, so that a third one fits on two cores. With more, a busy
    // tenth of a second would be a wrong measurement.
    maxWorkers: 3,
    // Files share their workers: to begin one for each takes a quarter of the CPU of all.
    isolate: false,
    globalSetup: ['test/support/services-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The usual second is too short for a full machine.
    expect: { poll: { timeout: 30_000 } },
  },
});
