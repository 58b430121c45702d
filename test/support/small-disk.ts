/** For test files: a disk so small that a test can fill it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../shared/base/errors.ts';

export type SmallDisk = {
  readonly folder: string;
  /** Takes all that is left. */
  readonly fill: () => Promise<void>;
  readonly free: () => Promise<void>;
  readonly close: () => void;
};

const mount = (folder: string, kib: number, owner: number): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=700,uid=${owner}`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // No right to mount, or nothing to mount with: whoever asked says loudly that it is not tested.
  }
};

/** Whether this machine lets us make one. Says loudly when not, because then something is not tested. */
export const canMakeDisks = (): boolean => {
  const folder = join('/tmp', `antipode-disk-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const can = mount(folder, 64, 0);
  if (can) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
  if (!can) process.stderr.write('SKIPPED: full disks need the right to mount a small one (root, on Linux)\n');
  return can;
};

export const createSmallDisk = (folder: string, kib: number, owner = 0): SmallDisk => {
  mkdirSync(folder, { recursive: true });
  if (!mount(folder, kib, owner)) throw new Error('a small disk cannot be mounted here');
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, 'w');
      try {
        for (const size of [65_536, 4_096, 1]) {
          for (;;) if ((await file.write(Buffer.alloc(size)).catch(isFull)) === undefined) break;
        }
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    close: () => {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const isFull = (error: unknown): undefined => {
  if (codeOf(error) === 'ENOSPC') return undefined;
  throw error;
};
