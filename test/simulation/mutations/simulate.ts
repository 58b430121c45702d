import { mutations } from './list.ts';
import { loadMutant } from './mutant.ts';

/** `npm run simulate` over the mutation that the first argument names. */
const [name] = process.argv.splice(2, 1);
const mutation = mutations.find((each) => each.name === name);
if (!mutation) throw new Error(`there is no mutation ${name}`);
await loadMutant(mutation, 'simulate.ts');
