import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import whole from '../vitest.config.ts';

/**
 * What takes minutes, the longest first. By default larger files start earlier, and short files that
 * take long would be waited for at the end, alone.
 */
const longest = [
  'network/sign-of-life',
  'network/slow-bus',
  'coordinator/health/livez',
  'pages/all-pages',
  'network/database-away',
  'network/probes',
  'network/warnings',
  'network/faults',
  'pages/journeys',
  'referee/run',
  'coordinator/documentation/typed',
  'support/command-line',
  'network/database-still',
  'network/handover',
  'network/one-address',
  'network/torment',
  'network/assignments',
  'network/keys-replaced',
  'network/absence',
  'network/notifications',
  'coordinator/starting',
  'simulation/mutations',
  'network/after-glitch',
  'network/hostile',
  'network/sick-places',
  'pages/connection-lost',
].map((name) => `/test/${name}.long.test.ts`);

/**
 * It takes a core for itself for a minute, while others are to be on time: only those run beside it
 * that wait for nothing.
 */
const greedy = '/test/deploy/upgrade.long.test.ts';
const patient = /\/(?:fuzz|hour|reference)\.long\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      if (patient.test(moduleId)) return longest.length + 2;
      if (moduleId.endsWith(greedy)) return longest.length + 1;
      const at = longest.findIndex((name) => moduleId.endsWith(name));
      return at === -1 ? longest.length : at;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/**
 * `npm run test:long`: real limits of time, faults and absences in full length, every page but
 * the main ones, long fuzz and histories, whole installations. CI runs it after `npm test`.
 */
export default defineConfig({
  ...whole,
  test: {
    ...whole.test,
    include: ['test/**/*.long.test.ts'],
    // Most of these wait for even longer, so that a fourth one fits (17 minutes on two cores).
    maxWorkers: 4,
    exclude: configDefaults.exclude,
    sequence: { sequencer: LongestFirst },
  },
});
