/**
 * `npm run operator -- …`: the coordinator's operator commands, in the environment of the service
 * that `npm start` runs, or of DATABASE_URL.
 */
import { spawn } from 'node:child_process';
import { z } from 'zod';
import { isAlone, understand } from '../../coordinator/operator/command-line.ts';
import { commandOf, environmentFile, lockHome, openHome, projectFolder, readJson } from './home.ts';

const command = spawn(
  process.execPath,
  [...commandOf('coordinator'), 'operator', ...process.argv.slice(2)],
  {
    env: surroundings(),
    cwd: projectFolder,
    stdio: 'inherit',
  },
);

function surroundings(): Record<string, string | undefined> {
  if (process.env.DATABASE_URL || process.env.DATABASE_URL_FILE) return process.env;
  const home = openHome(process.env);
  const kept = readJson(environmentFile(home), z.record(z.string(), z.string()));
  const free = lockHome(home);
  free?.release();
  if (kept === undefined || free !== undefined) {
    // Help and usage errors need no service.
    const { stdout, stderr } = process;
    const understood = understand(process.argv.slice(2), {
      out: (text) => stdout.write(text),
      err: (text) => stderr.write(text),
      watched: false,
    });
    if (typeof understood === 'number') process.exit(understood);
    if (isAlone(understood)) return process.env;
    process.stderr.write(
      `nothing runs on ${home}: begin with npm start, or name a database and a bus with DATABASE_URL, NATS_URL and the rest\n`,
    );
    process.exit(1);
  }
  return { ...process.env, ...kept };
}
// The terminal signals the child itself; this process only waits for its end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal));
command.once('exit', (code) => process.exit(code ?? 1));
