import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Most tests wait for real parts and use little of a core, so three files at once fit two cores.
    maxWorkers: 3,
    globalSetup: ['test/support/services-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 90_000,
  },
});
