import type { Observer } from '../domain/decision-types.ts';
import type { ProbeRow } from '../store/store-probes.ts';

/** One object for each probe, shared by all monitors that it has seen: a hundred thousand monitors would otherwise hold its name a hundred thousand times. */
const observers = new Map<string, Observer>();

export const observerOf = ({ id, name, continent }: Pick<ProbeRow, 'id' | 'name' | 'continent'>): Observer => {
  const known = observers.get(id);
  if (known?.name === name && known.continent === continent) return known;
  const made = { probe: id, name, continent };
  observers.set(id, made);
  return made;
};
