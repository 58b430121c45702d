import { test } from 'vitest';
import { survivesFaults } from './faults.ts';

test(
  'no fault of a connection ends the process, and every statement settles',
  () => survivesFaults(60, 12),
  120_000,
);
