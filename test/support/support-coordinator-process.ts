/** For test files: coordinators as processes. */
import { join } from 'node:path';
import { type ChildProgram, startChildProgram } from './support-child-program.ts';
import { freePort } from './support-services.ts';

export type CoordinatorProcess = ChildProgram & {
  readonly url: string;
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>;
  /** SIGKILL, also to one that is frozen. */
  readonly close: () => Promise<void>;
};

const main = join(import.meta.dirname, '../../coordinator/main.ts');

/** Settles when it answers that it is well. */
export const startCoordinatorProcess = async (environment: Readonly<Record<string, string>>): Promise<CoordinatorProcess> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const isWell = async () => (await fetch(`${url}/health`)).ok;
  const program = await startChildProgram([process.execPath, main], { ...environment, PORT: String(port), LOG_LEVEL: 'info' }, isWell);
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
