import { Resolver } from 'node:dns/promises';

/** The texts of the TXT records of a name, as they stand in DNS now; none when there are none, or nobody answers. */
export type TextRecords = (name: string) => Promise<readonly string[]>;

/** For what asks no DNS. */
export const noTextRecords: TextRecords = async () => [];

/** Two tries of three seconds: whoever pressed the button waits for it. */
const usual = { timeout: 3_000, tries: 2 };

/** Asked by Node's own resolver, which keeps nothing; of these servers, or without any of those of the machine. */
export const createTextRecords =
  (servers: readonly string[], patience = usual): TextRecords =>
  async (name) => {
    const resolver = new Resolver(patience);
    if (servers.length > 0) resolver.setServers([...servers]);
    // No record and no answer are the same to whoever waits for one: it is not there yet.
    const records = await resolver.resolveTxt(name).catch((): string[][] => []);
    return records.map((parts) => parts.join(''));
  };
