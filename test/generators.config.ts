import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:generators`: clients in four languages are generated, compiled and used. Apart,
 * because their compilers fetch much and take minutes.
 */
export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ['test/client/foreign.ts'] },
});
