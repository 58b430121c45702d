/** Where the coordinator's program is, and the environment that the operator's commands share with it. */
import { join } from 'node:path';
import { projectFolder } from './local-folders.ts';

/** The coordinator's environment of the last start, for the operator's commands. */
export const environmentFile = (home: string): string => join(home, 'environment.json');

export const coordinatorMain = join(projectFolder, 'coordinator/main.ts');
