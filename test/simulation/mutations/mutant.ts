import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { edited } from './syntax.ts';
import type { Mutation } from './types.ts';

/**
 * The simulation with one place of the code changed: every module that imports it, however far, is
 * loaded anew from the text as it is then; no file is touched.
 */

const root = resolve(import.meta.dirname, '..', '..', '..');
const ours = pathToFileURL(`${root}/`).href;

/** @throws when what it changes is not there exactly once: nothing would be mutated, or too much. */
export const mutated = ({ name, where, edit }: Mutation) => {
  const [file = '', of = ''] = where.split('#');
  try {
    const path = join(root, file);
    return { url: pathToFileURL(path).href, source: edited(readFileSync(path, 'utf8'), of, edit) };
  } catch (error) {
    throw new Error(`mutation "${name}" of ${where}`, { cause: error });
  }
};

/**
 * Modules are told apart by a word in their address, which whoever imports hands on to whom it
 * imports.
 */
const mark = 'mutant';
type Mutant = {
  readonly url: string;
  readonly source: string;
  /**
   * What it changes, and all that imports that, however far; all else is shared. Undefined for the
   * first mutant, from which it becomes known who imports whom.
   */
  readonly reach: ReadonlySet<string> | undefined;
};
const mutants = new Map<string, Mutant>();
/** Who imports a module of ours. */
const importers = new Map<string, Set<string>>();
const stripped = new Map<string, string>();
let made = 0;

const markOf = (url: string | undefined): string | null =>
  url?.startsWith(ours) ? new URL(url).searchParams.get(mark) : null;

const listen = (): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      const mutant = markOf(context.parentURL);
      // What is no code, as package.json, is nobody's mutation.
      const isCode = found.url.startsWith(ours) && found.url.endsWith('.ts');
      if (mutant === null || !isCode || found.url.includes('/node_modules/')) return found;
      const importer = context.parentURL?.replace(/\?.*/, '') ?? '';
      importers.getOrInsertComputed(found.url, () => new Set()).add(importer);
      if (mutants.get(mutant)?.reach?.has(found.url) === false) return found;
      return { ...found, url: `${found.url}?${mark}=${mutant}` };
    },
    load: (url, context, next) => {
      const mutant = markOf(url);
      if (mutant === null) return next(url, context);
      const path = url.slice(0, url.indexOf('?'));
      const change = mutants.get(mutant);
      const source =
        change?.url === path
          ? stripTypeScriptTypes(change.source)
          : stripped.getOrInsertComputed(path, () =>
              stripTypeScriptTypes(readFileSync(fileURLToPath(path), 'utf8')),
            );
      return { format: 'module', source, shortCircuit: true };
    },
  });
};

const reachOf = (changed: string): ReadonlySet<string> => {
  const all = new Set([changed]);
  // What is added on the way is walked through, too.
  for (const module of all) for (const importer of importers.get(module) ?? []) all.add(importer);
  return all;
};

/**
 * A module of the simulation as it runs over this mutation. @throws when what the mutation changes
 * is gone.
 */
export const loadMutant = async (mutation: Mutation, module = 'campaign.ts') => {
  const change = mutated(mutation);
  const reach = made === 0 ? undefined : reachOf(change.url);
  if (made === 0) listen();
  made += 1;
  mutants.set(String(made), { ...change, reach });
  return await import(`../${module}?${mark}=${made}`);
};
