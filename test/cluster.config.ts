import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/**
 * `npm run test:cluster`: buses of several servers, of which one after the other is killed or cut off, and coordinators likewise. Longer than CI has time
 * for, so that it is run by hand; one file after the other, for each has up to five servers, three coordinators and three probes.
 */
export default defineConfig({ ...whole, test: { ...whole.test, include: ['test/network/cluster/*.ts'], maxWorkers: 1 } });
