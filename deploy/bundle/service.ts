/**
 * The coordinator's file in the package, with what would need most of it a second time: two
 * programs of deploy/local, and the thread that reads imports.
 */
import { isMainThread } from 'node:worker_threads';

const [, , word] = process.argv;
if (!isMainThread) await import('../../coordinator/imports/thread.ts');
else if (word === 'setup' || word === 'operate') {
  process.argv.splice(2, 1);
  await (word === 'setup' ? import('../local/setup.ts') : import('../local/operator.ts'));
} else await import('../../coordinator/main.ts');
