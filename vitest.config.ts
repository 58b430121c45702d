import { configDefaults, defineConfig } from 'vitest/config';

/** What all runs have in common. */
export const whole = defineConfig({
  test: {
    exclude: configDefaults.exclude,
    // Most files wait most of the time, so that a third one fits on two cores. With more, a busy
    // tenth of a second would be a wrong measurement.
    maxWorkers: 3,
    globalSetup: ['test/support/services-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The usual second is too short for a full machine.
    expect: { poll: { timeout: 30_000 } },
  },
});

/** Whole networks, processes, browsers, waits for real time, long stories in a database. */
const apart = [
  'test/{network,deploy,simulation,client,support,pages}/**/*.test.ts',
  'test/coordinator/*.test.ts',
  'test/coordinator/{api,assistants,database,housekeeping,operator,web}/**/*.test.ts',
  'test/coordinator/**/{pages,public}/**/*.test.ts',
  'test/coordinator/**/{*-page,pages}.test.ts',
  'test/coordinator/health/{endpoint,metrics}.test.ts',
  'test/coordinator/{backups/*,heartbeats/forwarded,organisations/endings}.test.ts',
  'test/coordinator/notifications/{gathering,notifier}.test.ts',
  'test/coordinator/{gate/pagination,people/second-factor,people/sign-in,people/sign-up,secrets/key-replacement}.test.ts',
  'test/probe/{checks,disk,presence,spool}/**/*.test.ts',
  'test/probe/*.test.ts',
  'test/shared/{actor,bus,client}/**/*.test.ts',
];

const long = [...configDefaults.exclude, 'test/**/*.long.test.ts'];

/**
 * `npm test`: the main story of every promise. What takes minutes or is about real limits of time is
 * in files named `*.long.test.ts`, which `npm run test:long` runs. `npm run test:fast`, for a change
 * in hand, runs the first project alone, within a minute.
 */
export const usual = [
  {
    extends: true as const,
    test: {
      name: 'fast',
      include: ['test/**/*.test.ts'],
      exclude: [...long, ...apart],
      // To begin a worker for each file costs more than what is in most of them.
      isolate: false,
    },
  },
  { extends: true as const, test: { name: 'apart', include: apart, exclude: long } },
];

export default defineConfig({
  test: {
    ...whole.test,
    // The files of each are its own: to those of the whole they would be added.
    include: [],
    projects: usual,
  },
});
