import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:images`: images are built and run by a real engine, which root gets from Debian.
 * Apart, because it fetches and writes hundreds of megabytes.
 */
export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ['test/deploy/images/*.ts'] },
});
