import { z } from 'zod';
import { asSplit } from '../../shared/checks/config.ts';
import type { Queryable } from '../store/store-database.ts';
import { tellOwner } from '../store/store-monitors.ts';
import { type OpenSecrets, someOpenSecrets, writeSecretsApart } from '../store/store-open-secrets.ts';

const shape = z.record(z.string(), z.string());

/** How secrets of monitors are encrypted, and read again; both as JSON. */
export type MonitorSecrets = {
  readonly open: (row: Pick<OpenSecrets, 'id' | 'secrets'>) => Promise<string>;
  readonly seal: (sql: Queryable, monitor: string, text: string) => Promise<Buffer>;
};

/**
 * Encrypts some of what stands openly in configs, as what counts as a secret grows; how many monitors it was. What is checked stays the same,
 * but the probes are told anew, so that the old text is gone from the bus too.
 */
export const sealOpenSecrets = async (sql: Queryable, { open, seal }: MonitorSecrets, most: number): Promise<number> => {
  const rows = await someOpenSecrets(sql, most);
  for (const row of rows) {
    const { id, organisation_id: organisation, partition, type, config } = row;
    const apart = asSplit(type, config, shape.parse(JSON.parse(await open(row))));
    await writeSecretsApart(sql, id, apart.open, await seal(sql, id, JSON.stringify(apart.secrets)));
    await tellOwner(sql, { organisation, partition }, { monitor: id, change: 'edited', what_is_checked_changed: false });
  }
  return rows.length;
};
