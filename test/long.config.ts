import { configDefaults, defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:long`: real limits of time, faults and absences in full length, every page in four
 * looks, long fuzz and histories, whole installations. CI runs it after `npm test`.
 */
export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ['test/**/*.long.test.ts'], exclude: configDefaults.exclude },
});
