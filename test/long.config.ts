import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import whole from '../vitest.config.ts';

/**
 * What takes minutes, the longest first. By default larger files start earlier, and short files that
 * take long would be waited for at the end, alone.
 */
const longest = [
  'pages/all-pages',
  'network/probes',
  'network/slow-bus',
  'network/absence',
  'coordinator/database/faults',
  'coordinator/health/livez',
  'network/first-look',
  'network/torment',
  'network/database-away',
  'network/sick-places',
  'network/faults',
  'network/warnings',
  'network/after-glitch',
  'pages/journeys',
  'pages/touch',
  'network/hostile',
  'simulation/mutations',
].map((name) => `/test/${name}.long.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.endsWith(name));
      return at === -1 ? longest.length : at;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/**
 * `npm run test:long`: real limits of time, faults and absences in full length, every page in four
 * looks, long fuzz and histories, whole installations. CI runs it after `npm test`.
 */
export default defineConfig({
  ...whole,
  test: {
    ...whole.test,
    include: ['test/**/*.long.test.ts'],
    exclude: configDefaults.exclude,
    sequence: { sequencer: LongestFirst },
  },
});
