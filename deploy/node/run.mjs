/**
 * `node deploy/node/run.mjs PROGRAM …`: runs the program under the package's own Node, whatever
 * Node started this (18 or later). Everything that users start goes through here.
 *
 * `node deploy/node/run.mjs --shell PROGRAM …` only prints the line by which a shell becomes the
 * program: an old Node cannot, and would stay beside a service for as long as that runs.
 */
import { spawn } from 'node:child_process';
import { realpathSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { obtainNode } from './own-node.mjs';
import { projectFolder } from './places.mjs';

/** Messages go to standard error: only a command's answer goes to standard output. */
const say = (/** @type {string} */ line) => void writeSync(2, `${line}\n`);

/**
 * Replaces this process, as exec does. Where this Node cannot, a child does the work, and signals
 * and its exit code are passed on.
 *
 * @param {string} file
 * @param {readonly string[]} words
 * @param {import('./places.mjs').Environment} env
 */
const become = (file, words, env) => {
  if (process.execve !== undefined && realpathSync(process.execPath) === realpathSync(file))
    process.execve(file, [file, ...words], env);
  const child = spawn(file, words, { env, stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])) {
    // The terminal has already sent a typed signal to the child; a second one would mean "at once"
    // to some programs.
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
 * @param {import('./layout.mjs').Program} program its file below the project's folder.
 * @param {readonly string[]} words what follows it.
 */
export const runProgram = async ([program, ...first], words) => {
  try {
    const { file, env } = await obtainNode(process.env, say);
    become(file, [resolve(projectFolder, program), ...first, ...words], env);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
};

/** @param {string} word */
const quoted = (word) => `'${word.replaceAll("'", `'\\''`)}'`;

/** @type {typeof runProgram} */
const printLine = async ([program, ...first], words) => {
  try {
    const { file, env } = await obtainNode(process.env, say);
    const added = Object.entries(env).filter(([name, value]) => process.env[name] !== value);
    const settings = added.map(([name, value]) => `${name}=${value ?? ''}`);
    const line = ['env', ...settings, file, resolve(projectFolder, program), ...first, ...words];
    writeSync(1, `exec ${line.map(quoted).join(' ')}\n`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
};

const [, began, ...given] = process.argv;
if (began !== undefined && realpathSync(began) === fileURLToPath(import.meta.url)) {
  const isLine = given[0] === '--shell';
  const [program, ...words] = isLine ? given.slice(1) : given;
  if (program === undefined) {
    say('node deploy/node/run.mjs PROGRAM …: which program is to run?');
    process.exit(2);
  }
  await (isLine ? printLine : runProgram)([program], words);
}
