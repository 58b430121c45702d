import type { WitnessWords } from '../../../web/witnesses.ts';
import type { Impact, PostKind, UpdateKind } from '../../model.ts';
import type { DayState, PublicObjective, PublicState } from '../snapshot.ts';

/**
 * All words of a public page in one language, a file each beside this one. Names and texts of people
 * stay as they were written.
 */
export type Words = {
  /** The language's own name for itself. */
  readonly itself: string;
  readonly down: (names: string, count: number, of: number) => string;
  readonly reported: (names: string, count: number, impact: Impact) => string;
  readonly maintenanceNow: (names: string) => string;
  readonly allUp: string;
  readonly pending: string;
  readonly empty: string;
  readonly sinceFor: (at: string, duration: string) => string;
  readonly until: (at: string) => string;
  readonly states: Readonly<Record<PublicState, string>>;
  /** What a continent sees, after its name. */
  readonly witnesses: WitnessWords;
  /** Of a service that is up. */
  readonly slow: string;
  /** Of a day in the bars: `2 days with an outage`. */
  readonly dayCounts: Readonly<Record<Exclude<DayState, 'none'>, (days: number) => string>>;
  readonly barsOf: (days: number) => string;
  readonly legend: Readonly<Record<Exclude<DayState, 'none'>, string>>;
  readonly eachBar: string;
  readonly today: string;
  /** What the organisation promises, and one promise: `Promised: 99.9 % over 30 days`. */
  readonly objectives: string;
  readonly promised: (
    target: string,
    within: string | null,
    period: PublicObjective['period'],
  ) => string;
  readonly kept: string;
  readonly missed: string;
  readonly uptimeOver: (days: number) => string;
  readonly posts: Readonly<Record<UpdateKind, string>>;
  readonly postMortem: string;
  readonly affects: string;
  readonly incident: (names: string) => string;
  readonly incidentOver: (duration: string) => string;
  readonly running: string;
  readonly coming: string;
  readonly fromTo: (from: string, to: string) => string;
  readonly past: string;
  readonly noneRecent: string;
  readonly noneThen: string;
  readonly allPast: string;
  readonly back: string;
  readonly updates: string;
  readonly mailLabel: string;
  readonly mailSubmit: string;
  readonly mailNote: string;
  readonly webhookLabel: string;
  readonly webhookUrl: string;
  readonly webhookNote: string;
  readonly feeds: string;
  readonly calendar: string;
  /** Links to the service record of the installation. */
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
  /** For subscribing: after asking, before and after confirming, before and after leaving. */
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
  > & {
    /** Above the secret and the link that ends it, and why an address is not subscribed. */
    readonly webhook: Readonly<
      Record<'secret' | 'leave', string> &
        Record<'invalid' | 'taken' | 'full' | 'unproved', readonly [title: string, text: string]>
    >;
  };
  /** Suggested texts of posts. `names`: the public ones. */
  readonly usual: Readonly<Record<PostKind, (names: string, count: number) => string>>;
  /** The suggested title of a report of several services. */
  readonly oneCause: (count: number) => string;
  /** In place of too many names. */
  readonly services: (count: number) => string;
  /** Of the mails to subscribers, in the language in which each subscribed. */
  readonly mail: {
    readonly locale: string;
    readonly optIn: {
      readonly subject: (title: string) => string;
      readonly sentence: (title: string) => string;
      readonly label: string;
      readonly because: string;
    };
    readonly began: {
      readonly subject: (name: string) => string;
      readonly sentence: (name: string, at: string) => string;
    };
    readonly over: {
      readonly subject: (name: string) => string;
      readonly sentence: (name: string, from: string, to: string) => string;
    };
    readonly see: string;
    readonly or: string;
    readonly because: (title: string, leave: string) => string;
  };
  readonly badge: { readonly status: string; readonly uptime: string; readonly response: string };
};
