/** The link by which a newcomer's next act is a click: asked of the operator's own command, in the coordinator's environment. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { coordinatorMain } from './local-coordinator-place.ts';
import { projectFolder } from './local-folders.ts';

const answerShape = z.object({ address: z.string() });

/** Good until it is used or the next start makes another. @throws with what the command said. */
export const makeSignInLink = async (
  email: string,
  environment: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<string | undefined> => {
  const args = [coordinatorMain, 'operator', 'user', 'sign-in-link', '--email', email, '--for-start', '--json'];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment, cwd: projectFolder, signal: stop });
    return answerShape.parse(JSON.parse(stdout)).address;
  } catch (error) {
    if (stop.aborted) return undefined;
    throw error;
  }
};
