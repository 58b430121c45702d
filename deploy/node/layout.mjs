/**
 * Where this installation has its programs, below its folder, and its data: as in a checkout. The
 * package has a layout of its own (deploy/bundle/package.ts).
 */
import { resolve } from 'node:path';
import { projectFolder } from './places.mjs';

/** @typedef {import('./places.mjs').Environment} Environment */
/** @typedef {readonly [file: string, ...words: string[]]} Program the file, and what it is told first. */

/** @satisfies {{ readonly [name: string]: Program }} */
export const programs = /** @type {const} */ ({
  start: ['deploy/local/start.ts'],
  setup: ['deploy/local/setup.ts'],
  operator: ['deploy/local/operator.ts'],
  coordinator: ['coordinator/main.ts'],
  probe: ['probe/main.ts'],
  antipode: ['deploy/local/antipode.ts'],
  'antipode-mcp': ['deploy/local/antipode-mcp.ts'],
  'antipode-probe': ['probe/program.ts'],
});

/**
 * `ANTIPODE_HOME`, by default `.antipode` in the project.
 *
 * @param {Environment} env
 */
export const homeOf = (env) => resolve(projectFolder, env.ANTIPODE_HOME || '.antipode');

/** How a person types our command line here. */
export const typed = 'npx antipode';
