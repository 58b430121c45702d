import { createRecentCache } from '../../shared/base/async.ts';
import { deriveNetworkKey, type NetworkKey } from '../../shared/checks/sealed-secrets.ts';
import type { Sql } from '../store/store-database.ts';
import { readSealing, type Sealing, sealEpochOf } from '../store/store-seal-epochs.ts';
import type { WrappedKey } from '../store/store-secret-keys.ts';

/**
 * The keys that secrets travel under, one for each place (a continent, or one private probe), derived with the place's epoch. The revocation of
 * a probe makes the epoch of its place grow in the same transaction; what follows needs no order and can be done again from any point:
 * presence gives the new key to those who stay, the owners of partitions seal and publish anew what the marker of their partition does
 * not name as done, and a probe keeps an older key for as long as it holds something under it.
 */
export type NetworkKeys = {
  readonly keyOf: KeyOf;
  readonly epochOf: (place: string) => number;
  /** As the database has them at this moment: nothing may be published under a key that was taken out of use before. */
  readonly keysNow: () => Promise<KeyOf>;
  /**
   * Reads them anew; true when any grew. Then the directory is read before they are in force: who was revoked must be known to be so
   * before the new key is given away.
   */
  readonly refresh: (directory: () => Promise<void>) => Promise<boolean>;
};

export type KeyOf = (place: string) => NetworkKey;

type Parts = {
  readonly sql: Sql;
  /** The SECRET_KEY that is in force. @throws when we do not know it. */
  readonly masterOf: (newest: WrappedKey | undefined) => string;
};

export const createNetworkKeys = async ({ sql, masterOf }: Parts): Promise<NetworkKeys> => {
  const derived = createRecentCache<string, NetworkKey>(1_000);
  type Read = Pick<Sealing, 'epochs'> & { readonly master: string };
  const read = async (): Promise<Read> => {
    const { epochs, newest } = await readSealing(sql);
    return { epochs, master: masterOf(newest) };
  };
  let known = await read();

  const derive = ({ epochs, master }: Read, place: string): NetworkKey => {
    const epoch = sealEpochOf(epochs, place);
    const name = `${epoch} ${place} ${master}`;
    const have = derived.find(name);
    if (have) return have;
    const made = deriveNetworkKey(master, place, epoch);
    derived.keep(name, made);
    return made;
  };

  return {
    keyOf: (place) => derive(known, place),
    epochOf: (place) => sealEpochOf(known.epochs, place),
    keysNow: async () => {
      const now = await read();
      return (place) => derive(now, place);
    },
    refresh: async (directory) => {
      const now = await read();
      if ([...now.epochs].every(([place, epoch]) => epoch <= (known.epochs.get(place) ?? 1))) return false;
      await directory();
      const grown = [...now.epochs].filter(([place, epoch]) => epoch > (known.epochs.get(place) ?? 1));
      // Another reading may have been quicker than this one; epochs only grow, and with another SECRET_KEY all of them have grown.
      if (grown.length > 0) known = { epochs: new Map([...known.epochs, ...grown]), master: now.master };
      return grown.length > 0;
    },
  };
};
