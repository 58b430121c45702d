import { apiRevision, apiVersion } from '../shared/api/operation.ts';
import { version } from '../shared/base/process.ts';
import { newestBatch } from '../shared/bus/batch.ts';
import { wireVersion } from '../shared/bus/messages.ts';
import { migrationNames } from './store/store-migration-files.ts';

export type Versions = {
  readonly program: string;
  /** Of the API's document. */
  readonly api: string;
  /** What was added to that document since, counted: `x-revision` in it. */
  readonly api_revision: number;
  /** Of the messages on the bus, and of the newest form of results that this coordinator reads. */
  readonly wire: number;
  readonly batches: number;
  /** The number of the newest migration that this coordinator knows; the database may be ahead of it. */
  readonly schema: string;
};

/** What fits together: said by `/health`, by `--version`, and release by release in deploy/CHANGELOG.md. */
export const versions = (): Versions => ({
  program: version,
  api: apiVersion,
  api_revision: apiRevision,
  wire: wireVersion,
  batches: newestBatch,
  schema: migrationNames().at(-1)?.slice(0, 3) ?? 'none',
});
