import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:kubernetes`: the client against a real API of Kubernetes, and what helm
 * renders. Apart, because API server,
 * etcd and helm are built from their Go modules first, which takes some minutes once.
 */
export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ['test/deploy/kubernetes/*.ts'] },
});
