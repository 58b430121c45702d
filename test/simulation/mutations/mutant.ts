import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Campaign from '../campaign.ts';
import type { Mutation } from './types.ts';

/**
 * The simulation with one expression of the core replaced: every module of it is loaded anew from
 * the text as it is then; no file is touched.
 */

const root = resolve(import.meta.dirname, '..', '..', '..');
const ours = pathToFileURL(`${root}/`).href;

/**
 * Finds a text however the formatter breaks its lines: white space and trailing commas are free.
 */
const anyLayoutOf = (text: string): RegExp => {
  const tokens = text.match(/\w+|[^\w\s]/g) ?? [];
  const pattern = tokens.map((token, index) => {
    const escaped = token.replace(/\W/g, '\\$&');
    if (index === 0) return escaped;
    if (/\w/.test(token) && /\w/.test(tokens[index - 1] ?? '')) return `\\s+${escaped}`;
    return /[)\]}]/.test(token) ? `\\s*,?\\s*${escaped}` : `\\s*${escaped}`;
  });
  return new RegExp(pattern.join(''), 'g');
};

/**
 * @throws when the text is not in its file exactly once: then nothing would be mutated, or too
 * much.
 */
export const mutatedSource = ({ name, file, text, instead }: Mutation): string => {
  const source = readFileSync(join(root, file), 'utf8');
  const pattern = anyLayoutOf(text);
  const found = source.match(pattern)?.length ?? 0;
  if (found !== 1)
    throw new Error(
      `mutation "${name}" is ${found} times in ${file}, not once; correct its text: ${text}`,
    );
  return source.replace(pattern, () => instead);
};

/**
 * Modules are told apart by a word in their address, which whoever imports hands on to whom it
 * imports.
 */
const mark = 'mutant';
const sources = new Map<string, { readonly url: string; readonly source: string }>();
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
      return { ...found, url: `${found.url}?${mark}=${mutant}` };
    },
    load: (url, context, next) => {
      const mutant = markOf(url);
      if (mutant === null) return next(url, context);
      const path = url.slice(0, url.indexOf('?'));
      const mutated = sources.get(mutant);
      const source =
        mutated?.url === path ? mutated.source : readFileSync(fileURLToPath(path), 'utf8');
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
};

export type Mutant = Pick<typeof Campaign, 'campaign'>;

/**
 * The simulation as it runs over this mutation; null: over nothing mutated. @throws when the text
 * of the mutation is gone.
 */
export const loadMutant = async (mutation: Mutation | null): Promise<Mutant> => {
  if (mutation === null) return await import('../campaign.ts');
  const source = mutatedSource(mutation);
  if (made === 0) listen();
  made += 1;
  sources.set(String(made), { url: pathToFileURL(join(root, mutation.file)).href, source });
  return await import(`../campaign.ts?${mark}=${made}`);
};
