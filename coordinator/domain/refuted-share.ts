/**
 * What one coordinator knows of a probe that may be sick (rule 16), small enough to be told to the others, and what all of them know together. Each
 * decides about its own monitors only, and several may know the same host.
 */
export type Share = {
  /** Hashes of the hosts that the probe checks, in order: the smallest of them, which are a fair sample of many. */
  readonly hosts: readonly number[];
  /** Those of them that are refuted, and until when that counts. */
  readonly refuted: ReadonlyMap<number, number>;
};

export const mostHosts = 256;
/** Hashes of hosts are below this, evenly. */
const hashes = 2 ** 32;

export const smallestOf = (hosts: ReadonlySet<number>): readonly number[] => [...Float64Array.from(hosts).sort().subarray(0, mostHosts)];

export const shareOf = (hosts: readonly number[], refuted: ReadonlyMap<number, number>, now: number): Share => ({
  hosts,
  refuted: new Map(hosts.map((host): [number, number] => [host, refuted.get(host) ?? now]).filter(([, until]) => until > now)),
});

/** A refuted failure that is seen again counts for longer: that alone is told only once in a while. */
const longer = 60_000;

export const saysTheSame = (share: Share, told: Share | undefined): boolean =>
  told !== undefined &&
  told.hosts.length === share.hosts.length &&
  told.refuted.size === share.refuted.size &&
  share.hosts.every((host, index) => host === told.hosts[index]) &&
  [...share.refuted].every(([host, until]) => until - (told.refuted.get(host) ?? Number.NEGATIVE_INFINITY) < longer);

/** How many distinct hosts the probe checks, and how many of them are refuted. Of more than a sample holds both are estimated. */
export const together = (shares: readonly Share[], now: number): { readonly targets: number; readonly refuted: number } => {
  const isSample = shares.some(({ hosts }) => hosts.length >= mostHosts);
  const all = [...new Set(shares.flatMap(({ hosts }) => hosts))].toSorted((a, b) => a - b);
  const hosts = isSample ? all.slice(0, mostHosts) : all;
  const refuted = hosts.filter((host) => shares.some((share) => (share.refuted.get(host) ?? now) > now)).length;
  if (!isSample) return { targets: hosts.length, refuted };
  const targets = Math.round(((hosts.length - 1) * hashes) / ((hosts.at(-1) ?? 0) + 1));
  return { targets, refuted: Math.round((refuted * targets) / hosts.length) };
};
