import { defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';

/** `npm run test:cluster`: a bus of several servers, of which one after the other is killed. Longer than CI has time for, so that it is run by hand. */
export default defineConfig({ ...whole, test: { ...whole.test, include: ['test/network/cluster/*.ts'] } });
