import { type BatchVersion, formFor } from '../../shared/bus/bus-batch-writing.ts';

/**
 * How far one partition is handed over; pure: what is to be done about it is the reporter's.
 *
 * Modes of a result: waiting (seq > sent) → in flight → landed (the stream has it) → committed (gone from the spool). A batch that does not land,
 * a gap that the coordinator reports, and a commit that never comes put the partition back to where it is known to be safe.
 */
export type Flight = { readonly before: number; readonly last: number };

export type Route = {
  /** The last number that was sent. */
  readonly sent: number;
  readonly flights: readonly Flight[];
  /** Since when something waits to be sent; undefined when nothing is known to. */
  readonly waitingSince: number | undefined;
  readonly rewoundAt: number;
  readonly rewindAsked: boolean;
  /** Since when the oldest result that was sent has not been committed. */
  readonly outstandingSince: number | undefined;
  readonly patienceMs: number;
  /** What the owner of the partition said that it reads; old ones say nothing. */
  readonly form: BatchVersion;
};

export const mostFlights = 4;
const mostPatienceMs = 600_000;
/** A bus that comes back may have come back empty. */
const patienceAfterReturnMs = 10_000;
const rewindEveryMs = 1_000;
const longAgo = Number.NEGATIVE_INFINITY;

export const newRoute = (patienceMs: number): Route => ({
  ...{ sent: 0, flights: [], waitingSince: undefined, rewoundAt: longAgo, rewindAsked: false },
  ...{ outstandingSince: undefined, patienceMs, form: 1 },
});

/** A result came. */
export const came = (route: Route, at: number): Route => (route.waitingSince === undefined ? { ...route, waitingSince: at } : route);

/** All that waits is being sent, as far as it may. */
export const taken = (route: Route): Route => ({ ...route, waitingSince: undefined });

/** It could not go now, and is due with the next turn. */
export const dueNow = (route: Route): Route => ({ ...route, waitingSince: longAgo });

export const mayLeave = ({ flights }: Route): boolean => flights.length < mostFlights;

export const left = (route: Route, last: number, at: number): { readonly route: Route; readonly flight: Flight } => {
  const flight = { before: route.sent, last };
  const outstandingSince = route.outstandingSince ?? at;
  return { route: { ...route, flights: [...route.flights, flight], sent: last, outstandingSince }, flight };
};

const without = ({ flights }: Route, flight: Flight): readonly Flight[] => flights.filter((other) => other !== flight);

export const landed = (route: Route, flight: Flight): Route => ({ ...route, flights: without(route, flight) });

/** Undefined when the flight was given up already, with the connection. */
export const failed = (route: Route, flight: Flight): Route | undefined =>
  route.flights.includes(flight)
    ? dueNow({ ...route, flights: without(route, flight), sent: Math.min(route.sent, flight.before) })
    : undefined;

/** What was in flight when the connection broke may have landed or not: it goes again, and repeats change nothing. */
export const reconnected = (route: Route, at: number): Route => ({
  ...route,
  flights: [],
  sent: landedUpTo(route),
  ...(route.outstandingSince === undefined ? {} : { outstandingSince: at, patienceMs: Math.min(route.patienceMs, patienceAfterReturnMs) }),
});

/** It goes again from where it is committed. Undefined when nothing beyond that was sent. */
export const rewound = (route: Route, committed: number, at: number): Route | undefined =>
  route.sent <= committed ? undefined : dueNow({ ...route, sent: committed, rewoundAt: at });

/** More of it was committed. */
export const committedUpTo = (route: Route, mark: number, at: number, patienceMs: number): Route => ({
  ...route,
  patienceMs,
  outstandingSince: mark < route.sent ? at : undefined,
});

/** `told`: the newest form of batches that the owner reads; undefined when it said nothing of it, as old ones do. */
export const ownedBy = (route: Route, told: number | undefined): Route => {
  const form = formFor(told);
  return form === route.form ? route : { ...route, form };
};

export const askedToRewind = (route: Route): Route => ({ ...route, rewindAsked: true });

/** A gap was reported, and it was not put back just now. */
export const isRewindDue = ({ rewindAsked, rewoundAt }: Route, at: number): boolean => rewindAsked && at - rewoundAt >= rewindEveryMs;

/** Sent, landed, and never committed although a coordinator is there: the bus lost it, or it was not understood. */
export const isLost = ({ outstandingSince, flights, patienceMs }: Route, at: number): boolean =>
  outstandingSince !== undefined && flights.length === 0 && at - outstandingSince >= patienceMs;

/** It goes again in the form that everybody reads, and is waited for longer. */
export const afterLoss = (route: Route): Route => ({
  ...route,
  outstandingSince: undefined,
  patienceMs: Math.min(mostPatienceMs, route.patienceMs * 2),
  form: 1,
});

export const landedUpTo = ({ flights, sent }: Route): number => flights.reduce((least, { before }) => Math.min(least, before), sent);
