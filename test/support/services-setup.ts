/** vitest's global setup: starts the services once for the run and hands their addresses to every test file. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { type Services, startServices } from './services-run.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    services: Services;
  }
}

const store = join(import.meta.dirname, '../../coordinator/store/migrate.ts');

/** Brings the template database up to date, by the code that a coordinator uses. */
const migrateTemplate = async (url: string): Promise<void> => {
  if (!existsSync(store)) return;
  const { migrate } = await import(store);
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await migrate(sql).finally(() => sql.end());
};

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const { services, stop } = await startServices(migrateTemplate);
  project.provide('services', services);
  return stop;
};
