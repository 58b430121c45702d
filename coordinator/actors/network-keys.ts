import { deriveNetworkKey, type NetworkKey } from '../../shared/checks/seal.ts';
import type { Sql } from '../store/database.ts';
import { readSealEpochs, type SealEpochs, sealEpochOf } from '../store/seal-epochs.ts';

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

export const createNetworkKeys = async ({ sql, secretKey }: { readonly sql: Sql; readonly secretKey: string }): Promise<NetworkKeys> => {
  const derived = new Map<string, NetworkKey>();
  let epochs = await readSealEpochs(sql);

  const derive = (from: SealEpochs, place: string): NetworkKey => {
    const epoch = sealEpochOf(from, place);
    const name = `${epoch} ${place}`;
    const known = derived.get(name);
    if (known) return known;
    if (derived.size > 1_000) derived.clear();
    const made = deriveNetworkKey(secretKey, place, epoch);
    derived.set(name, made);
    return made;
  };

  return {
    keyOf: (place) => derive(epochs, place),
    epochOf: (place) => sealEpochOf(epochs, place),
    keysNow: async () => {
      const now = await readSealEpochs(sql);
      return (place) => derive(now, place);
    },
    refresh: async (directory) => {
      const read = await readSealEpochs(sql);
      if ([...read].every(([place, epoch]) => epoch <= (epochs.get(place) ?? 1))) return false;
      await directory();
      const grown = [...read].filter(([place, epoch]) => epoch > (epochs.get(place) ?? 1));
      // Another reading may have been quicker than this one; epochs only grow.
      epochs = new Map([...epochs, ...grown]);
      return grown.length > 0;
    },
  };
};
