/** For test files: coordinators as processes. */
import { join } from 'node:path';
import { z } from 'zod';
import { type ChildProgram, startChildProgram } from './child-program.ts';
import { freePort } from './services.ts';

export type CoordinatorProcess = ChildProgram & {
  readonly url: string;
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>;
  /** SIGKILL, also to one that is frozen. */
  readonly close: () => Promise<void>;
};

const main = join(import.meta.dirname, '../../coordinator/main.ts');

const wellShape = z.object({ parts: z.record(z.string(), z.unknown()) });

/** Whether all is well with the coordinator itself, of whatever version, also while no probe is there. */
export const isWell = async (url: string): Promise<boolean> => {
  const { parts } = wellShape.parse(await (await fetch(`${url}/health`)).json());
  return Object.values(parts).every((part) => part !== false);
};

/** Settles when it answers that all is well with itself. */
export const startCoordinatorProcess = async (environment: Readonly<Record<string, string>>): Promise<CoordinatorProcess> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = await startChildProgram([process.execPath, main], { ...environment, PORT: String(port), LOG_LEVEL: 'info' }, () =>
    isWell(url),
  );
  const { signal, exited } = program;
  return {
    ...program,
    url,
    stop: () => {
      signal('SIGTERM');
      return exited;
    },
    close: async () => {
      signal('SIGKILL');
      await exited;
    },
  };
};
