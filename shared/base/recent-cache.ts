/**
 * Remembers what was made for the keys that were asked for lately: in two generations, of which the older goes when the younger is full. What is
 * asked for again in time stays; however many keys there are, no more than twice so many are held.
 */
export type RecentCache<Key, Made> = {
  readonly find: (key: Key) => Made | undefined;
  readonly keep: (key: Key, made: Made) => void;
};

export const createRecentCache = <Key, Made>(most: number): RecentCache<Key, Made> => {
  let young = new Map<Key, Made>();
  let old = new Map<Key, Made>();
  const keep = (key: Key, made: Made): void => {
    if (young.size >= most) {
      old = young;
      young = new Map();
    }
    young.set(key, made);
  };
  return {
    keep,
    find: (key) => {
      const found = young.get(key);
      if (found !== undefined) return found;
      const earlier = old.get(key);
      if (earlier !== undefined) keep(key, earlier);
      return earlier;
    },
  };
};

/** Gives for equal values the same one, by their text: always when no more than so many differ, and else for those that came lately. */
export const createShared = <Value>(most: number): ((text: string, value: Value) => Value) => {
  const known = createRecentCache<string, Value>(most);
  return (text, value) => {
    const found = known.find(text);
    if (found === undefined) known.keep(text, value);
    return found ?? value;
  };
};
