/**
 * The coordinator's file in the package, with what would need much of it a second time: three
 * programs of deploy/local, and the thread that reads imports.
 */
import { isMainThread } from 'node:worker_threads';

const [, , word = ''] = process.argv;
const programs = new Map([
  ['start', () => import('../local/start.ts')],
  ['setup', () => import('../local/setup.ts')],
  ['operate', () => import('../local/operator.ts')],
]);
const program = programs.get(word);
if (!isMainThread) await import('../../coordinator/imports/thread.ts');
else if (program) {
  process.argv.splice(2, 1);
  await program();
} else await import('../../coordinator/main.ts');
