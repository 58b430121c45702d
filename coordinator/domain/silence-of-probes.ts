/**
 * Who is lost (rule 7). A probe silent for 15 s is; but silence counts only while the coordinator itself was listening, and when
 * most fall silent at once it is the bus: then nobody is lost yet. That benefit of the doubt ends after twice the time if others are
 * heard all the while, because then the bus carries words and those probes have none.
 */
const silentAfter = 15_000;
/** Presence comes every 5 s: those last heard within one ping of each other fell silent at once. */
const atOnce = 6_000;

export type Heard = { readonly probe: string; readonly at: number };

export type Silence = { readonly lost: readonly string[]; readonly busAway: boolean };

/** `heard`: when each probe that was well so far was last heard. `listeningSince`: since when the coordinator hears the bus without a break. */
export const judgeSilence = (heard: readonly Heard[], listeningSince: number, now: number): Silence => {
  const silence = ({ at }: Heard) => now - Math.max(at, listeningSince);
  const silent = heard.filter((each) => silence(each) >= silentAfter);
  if (silent.length === 0) return { lost: [], busAway: false };
  // Who spoke last before the bus went has been silent for up to a ping less than the others.
  const fallen = heard.filter((each) => silence(each) > atOnce);
  const last = Math.max(...fallen.map(({ at }) => Math.max(at, listeningSince)));
  const together = fallen.filter(({ at }) => last - Math.max(at, listeningSince) <= atOnce);
  const most = together.length > 1 && together.length * 2 > heard.length;
  const nobodyHeard = fallen.length === heard.length;
  const doubt = most && (nobodyHeard || together.some((each) => silence(each) < 2 * silentAfter));
  const lost = doubt ? silent.filter((each) => !together.includes(each)) : silent;
  return { lost: lost.map(({ probe }) => probe), busAway: doubt };
};
