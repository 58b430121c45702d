/** Runs one of the operator's commands in a process of its own and reads the object that it prints. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { projectFolder } from './folders.ts';

/** The coordinator's environment of the last start, for the operator's commands. */
export const environmentFile = (home: string): string => join(home, 'environment.json');

export const coordinatorMain = join(projectFolder, 'coordinator/main.ts');

/** @throws with what the command said, when it was refused. */
export const runOperator = async <Shape extends z.ZodType>(
  env: Readonly<Record<string, string>>,
  stop: AbortSignal,
  shape: Shape,
  ...args: readonly string[]
): Promise<z.infer<Shape>> => {
  const said = await promisify(execFile)(process.execPath, [coordinatorMain, 'operator', ...args, '--json'], {
    env: { ...env },
    cwd: projectFolder,
    signal: stop,
  }).catch((cause: unknown) => {
    const { stderr } = z
      .object({ stderr: z.string() })
      .catch({ stderr: String(cause) })
      .parse(cause);
    throw new Error(`operator ${args.slice(0, 2).join(' ')}: ${stderr.trim()}`, { cause });
  });
  return shape.parse(JSON.parse(said.stdout));
};
