import type { Seer } from '../domain/incident-types.ts';
import type { ProbeRow } from '../store/probes.ts';

/** One object for each probe, shared by all monitors that it has seen: a hundred thousand monitors would otherwise hold its name a hundred thousand times. */
const seers = new Map<string, Seer>();

export const seerOf = ({ id, name, continent }: Pick<ProbeRow, 'id' | 'name' | 'continent'>): Seer => {
  const known = seers.get(id);
  if (known?.name === name && known.continent === continent) return known;
  const made = { probe: id, name, continent };
  seers.set(id, made);
  return made;
};
