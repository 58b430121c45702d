import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:terraform`: the provider is compiled, and OpenTofu applies configurations with it to
 * a whole service. Apart, because compiling OpenTofu takes minutes; later runs find it in the cache.
 * One file after the other, since two would compile it twice.
 */
export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ['test/deploy/terraform/{code,life,use}.ts'], maxWorkers: 1 },
});
