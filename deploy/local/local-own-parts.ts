/** Whether the database and the bus that a person brings can be entered; asked before anything is started, so that every fault is told at once. */
import { loadLightly } from '../../shared/base/light-loading.ts';
import type { BusEnvironment } from './local-environments.ts';
import type { Settings } from './local-settings.ts';

const faultsOfDatabase = async (url: string): Promise<readonly string[]> => {
  const [{ connect }, { whyNoEntry }] = await loadLightly(() =>
    Promise.all([import('../../coordinator/store/store-database.ts'), import('../../coordinator/store/store-database-entry.ts')]),
  );
  const sql = connect(url, { name: 'antipode start', connections: 1 });
  try {
    await sql`select 1`;
    return [];
  } catch (error) {
    return [`DATABASE_URL: ${whyNoEntry(error, url) ?? (error instanceof Error ? error.message : String(error))}`];
  } finally {
    await sql.end({ timeout: 1 });
  }
};

/** Both users must be let in: the coordinator's own, and the one who hands revocations to the server. */
const faultsOfBus = async (bus: BusEnvironment, tls: Settings['busTls']): Promise<readonly string[]> => {
  const { enterOnce } = await loadLightly(() => import('../../shared/bus/bus-nats.ts'));
  const url = bus.NATS_URL;
  const faultWith = async (name: 'NATS_CREDENTIALS' | 'NATS_SYSTEM_CREDENTIALS'): Promise<string | undefined> => {
    try {
      await enterOnce({ url, ...tls, credentials: bus[name] });
      return undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isAboutUser = /authori[sz]ation|authentication|credentials|nonce|seed|key/i.test(why);
      if (/tls|certificate|issuer|altname/i.test(why))
        return `NATS_URL: the bus at ${url} has no TLS that can be relied on (${why}): check its certificate, NATS_CA and NATS_TLS_FIRST`;
      return isAboutUser
        ? `${name}: the bus at ${url} does not take them (${why}): check that they are of an account of that server`
        : `NATS_URL: nothing answers at ${url} (${why}): check host and port, and that a nats-server runs there`;
    }
  };
  const faults = await Promise.all([faultWith('NATS_CREDENTIALS'), faultWith('NATS_SYSTEM_CREDENTIALS')]);
  return [...new Set(faults.filter((fault) => fault !== undefined))];
};

/** A line for each part of the person's own that does not let us in; none when there is no such part, or all is well. */
export const faultsOfOwnParts = async ({ databaseUrl, bus, busTls }: Settings): Promise<readonly string[]> => {
  const faults = await Promise.all([
    databaseUrl === undefined ? [] : faultsOfDatabase(databaseUrl),
    bus === undefined ? [] : faultsOfBus(bus, busTls),
  ]);
  return faults.flat();
};
