/**
 * `node deploy/node/run.mjs PROGRAM …`: the program under the package's own Node, whatever Node began (18 or later). Everything that
 * people start goes through here.
 */
import { spawn } from 'node:child_process';
import { realpathSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { obtainNode } from './own-node.mjs';
import { projectFolder } from './places.mjs';

/** What it says goes to standard error: what a command answers stands alone on standard output. */
const say = (/** @type {string} */ line) => void writeSync(2, `${line}\n`);

/**
 * Takes this process's place, as exec does; where this Node cannot, a child does the work, and signals and its end are passed on.
 *
 * @param {string} file
 * @param {readonly string[]} words
 * @param {import('./places.mjs').Environment} env
 */
const become = (file, words, env) => {
  if (process.execve !== undefined && realpathSync(process.execPath) === realpathSync(file)) process.execve(file, [file, ...words], env);
  const child = spawn(file, words, { env, stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])) {
    // What is typed at a terminal has been told to the child by the terminal; twice would mean "at once" to some programs.
    const isTyped = isatty(0) && (signal === 'SIGINT' || signal === 'SIGQUIT');
    process.on(signal, () => isTyped || child.kill(signal));
  }
  child.once('error', (error) => {
    say(error.message);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};

/**
 * @param {string} program below the checkout.
 * @param {readonly string[]} words what stands behind it.
 */
export const runProgram = async (program, words) => {
  try {
    const { file, env } = await obtainNode(process.env, say);
    become(file, [resolve(projectFolder, program), ...words], env);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
};

const [, began, program, ...words] = process.argv;
if (began !== undefined && realpathSync(began) === fileURLToPath(import.meta.url)) {
  if (program === undefined) {
    say('node deploy/node/run.mjs PROGRAM …: which program is to run?');
    process.exit(2);
  }
  await runProgram(program, words);
}
