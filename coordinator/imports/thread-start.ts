import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Starts the thread from its file; a bundle has the file within itself (deploy/bundle). */
export function startThread(options: WorkerOptions): Worker {
  return new Worker(new URL('./thread.ts', import.meta.url), options);
}
