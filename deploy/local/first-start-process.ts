/**
 * Run by local/first-start.ts, beside the making of the database: reads all programs, so that their compiled code is kept before anyone runs them, and says
 * `loaded`; then reads from its input what is to be made, makes it, and prints all that is made after every step.
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
