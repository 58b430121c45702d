import { test } from 'vitest';
import { survivesFaults } from './faults.ts';

test(
  'no fault of a connection ends the process, in hundreds of rounds',
  () => survivesFaults(500, 12),
  600_000,
);
