/**
 * local/first-start.ts runs this while the database is being made. It reads all programs, which
 * caches their compiled code before anyone runs them, and says `loaded`. Then it reads from its
 * input what to make, makes it, and prints everything made so far after each step.
 */
import { flushCompileCache } from 'node:module';
import { text } from 'node:stream/consumers';
import { modulesOfCoordinator } from '../../coordinator/main.ts';
import { modulesOfProbe } from '../../probe/main.ts';
import { loadLightly, mayGrow } from '../../shared/base/light-loading.ts';

const { make } = await loadLightly(async () => {
  await modulesOfCoordinator();
  await modulesOfProbe(true);
  return await import('./first-start-steps.ts');
});
mayGrow();
flushCompileCache();
process.stdout.write('loaded\n');

const order = await text(process.stdin);
// A launcher that ended before it had a database leaves nothing to make.
if (order !== '') await make(JSON.parse(order), (made) => process.stdout.write(`${JSON.stringify(made)}\n`));
