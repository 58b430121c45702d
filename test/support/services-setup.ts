/**
 * vitest's global setup: starts the services once for the run and hands their addresses to every
 * test file.
 */
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { projectFolder } from '../../deploy/node/places.mjs';
import { type Services, startServices } from './services-run.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    services: Services;
  }
}

/**
 * Memory, where it has room: to make a database, which every second file does, takes a seventh of
 * the CPU there that it takes on a disk. A run needs less than a GiB.
 */
const placeOfRun = (): string | undefined => {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return undefined;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= 4 * 2 ** 30 ? memory : undefined;
};

export default async (project: TestProject): Promise<() => Promise<void>> => {
  // As `npm start` has it: workers inherit it, and with them all programs that tests start.
  process.env.NODE_COMPILE_CACHE ??= join(projectFolder, 'node_modules/.cache/antipode/compile');
  const { services, stop } = await startServices(placeOfRun());
  project.provide('services', services);
  return stop;
};
