import type { DayState, PercentDays, PublicState } from '../../../domain/public-page.ts';
import type { PostKind } from '../../../domain/status-page.ts';

/** Everything that a public page says in its own words, in one language. Names and texts of people stand as they were written. */
export type Words = {
  /** The language's own name for itself. */
  readonly itself: string;
  readonly down: (names: string, count: number, of: number) => string;
  readonly maintenanceNow: (names: string) => string;
  readonly allUp: string;
  readonly pending: string;
  readonly empty: string;
  readonly sinceFor: (at: string, duration: string) => string;
  readonly until: (at: string) => string;
  readonly states: Readonly<Record<PublicState, string>>;
  /** Of a day in the bars: `2 days with an outage`. */
  readonly dayCounts: Readonly<Record<Exclude<DayState, 'none'>, (days: number) => string>>;
  readonly barsOf: (days: number) => string;
  readonly legend: Readonly<Record<Exclude<DayState, 'none'>, string>>;
  readonly eachBar: string;
  readonly today: string;
  readonly uptimeOver: (days: PercentDays) => string;
  readonly noFigure: string;
  readonly posts: Readonly<Record<PostKind, string>>;
  readonly current: string;
  readonly incident: (names: string) => string;
  readonly incidentOver: (duration: string) => string;
  readonly lasting: string;
  readonly maintenance: string;
  readonly running: string;
  readonly coming: string;
  readonly fromTo: (from: string, to: string) => string;
  readonly past: string;
  readonly recent: string;
  readonly noneRecent: string;
  readonly noneThen: string;
  readonly earlier: string;
  readonly later: string;
  readonly allPast: string;
  readonly back: string;
  readonly updates: string;
  readonly byMail: string;
  readonly mailLabel: string;
  readonly mailSubmit: string;
  readonly mailNote: string;
  readonly feeds: string;
  readonly calendar: string;
  /** Leads to what the service that measures tells of itself. */
  readonly aboutUs: string;
  readonly measured: string;
  readonly measuredText: readonly string[];
  readonly language: string;
  readonly timesIn: (zone: string) => string;
  readonly asOf: (at: string) => string;
  readonly stale: (at: string) => string;
  readonly day: string;
  readonly outage: string;
  readonly noTrouble: string;
  readonly service: string;
  readonly gone: string;
  readonly goneText: string;
  readonly away: string;
  readonly awayText: string;
  readonly locked: string;
  readonly lockedByLink: string;
  readonly password: string;
  readonly enter: string;
  readonly wrong: string;
  readonly tooMany: string;
  /** Of subscribing: after asking, before and after confirming, before and after leaving. */
  readonly subscribing: Readonly<
    Record<
      | 'asked'
      | 'askedText'
      | 'confirm'
      | 'confirmButton'
      | 'confirmed'
      | 'dead'
      | 'deadText'
      | 'leave'
      | 'leaveButton'
      | 'left'
      | 'badAddress'
      | 'often',
      string
    >
  >;
  readonly badge: { readonly status: string; readonly uptime: string; readonly response: string };
};
