import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../shared/base/errors.ts';

/** Where systems keep the time zone database. */
const folder = '/usr/share/zoneinfo';
const mostRead = 100;

/**
 * The version of the time zones that this machine has, beside those that come with Node; null where
 * it has none, or does not say which.
 */
export const systemZoneVersion = async (of = folder): Promise<string | null> => {
  const file = await open(join(of, 'tzdata.zi')).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostRead), 0, mostRead, 0);
    return (
      /^# version (\d{4}[a-z]{1,2})\b/.exec(buffer.toString('latin1', 0, bytesRead))?.[1] ?? null
    );
  } finally {
    await file.close();
  }
};
