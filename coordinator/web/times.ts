import { agoText, briefDuration } from '../../shared/base/time.ts';
import { type Html, html } from './html.ts';

/** Times in the zone that the reader chose: the organisation's, UTC, or their own. */
export type Times = {
  /** The IANA name. */
  readonly zone: string;
  readonly now: number;
  /**
   * `14:02:07` today, otherwise `19 Nov, 14:02`, with the year if it differs; `datetime` holds the
   * exact time.
   */
  readonly moment: (at: number | string) => Html;
  /** `22 Nov 2026, 14:02:07`. */
  readonly whole: (at: number | string) => Html;
  /** `14:02:07.120`. */
  readonly precise: (at: number | string) => Html;
  /** `14:02:07`, where the day is said elsewhere. */
  readonly clock: (at: number | string) => Html;
  /** `22 Nov 2026`. */
  readonly day: (at: number | string) => Html;
  /** `4 s ago`. */
  readonly ago: (at: number | string) => Html;
  /** `4 s`: how long it has lasted by now. */
  readonly lasting: (at: number | string) => Html;
  /** `Tue 24 Nov 2026, 02:00–03:00`, or both days where it crosses midnight. */
  readonly span: (from: number | string, to: number | string) => Html;
  /** `CET`: what the zone is called at that time. */
  readonly zoneName: (at: number | string) => Html;
  /** The same as text, for places that take no HTML. */
  readonly text: (
    at: number | string,
    form: 'moment' | 'whole' | 'precise' | 'clock' | 'minute' | 'day',
  ) => string;
};

export function isZone(zone: string): boolean {
  try {
    return formatsOf(zone) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

type Formats = {
  readonly [form in
    | 'weekday'
    | 'minute'
    | 'clock'
    | 'day'
    | 'dayOfYear'
    | 'short'
    | 'whole'
    | 'precise'
    | 'zoneName']: Intl.DateTimeFormat;
};

const made = new Map<string, Formats>();

/** Creating a format costs fifty times as much as using it. */
function formatsOf(zone: string): Formats {
  const known = made.get(zone);
  if (known) return known;
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options });
  const day = { day: 'numeric', month: 'short' } as const;
  const clock = { hour: '2-digit', minute: '2-digit' } as const;
  const formats: Formats = {
    weekday: format({ weekday: 'short', ...day, year: 'numeric' }),
    minute: format(clock),
    clock: format({ ...clock, second: '2-digit' }),
    day: format({ ...day, year: 'numeric' }),
    dayOfYear: format(day),
    short: format({ ...day, ...clock }),
    whole: format({ ...day, year: 'numeric', ...clock, second: '2-digit' }),
    precise: format({ ...clock, second: '2-digit', fractionalSecondDigits: 3 }),
    zoneName: format({ timeZoneName: 'short' }),
  };
  made.set(zone, formats);
  return formats;
}

export function timesIn(zone: string, now: number): Times {
  const formats = formatsOf(zone);
  const ms = (at: number | string): number => (typeof at === 'number' ? at : Date.parse(at));
  const today = formats.day.format(now);
  const year = today.slice(-4);
  const momentText = (at: number): string => {
    const day = formats.day.format(at);
    if (day === today) return formats.clock.format(at);
    return day.endsWith(year) ? formats.short.format(at) : day;
  };
  const text: Times['text'] = (given, form) => {
    const at = ms(given);
    return form === 'moment' ? momentText(at) : formats[form].format(at);
  };
  const time = (at: number | string, words: string): Html =>
    html`<time datetime="${machineText(at)}">${words}</time>`;
  return {
    zone,
    now,
    text,
    moment: (at) => time(at, text(at, 'moment')),
    whole: (at) => time(at, text(at, 'whole')),
    precise: (at) => time(at, text(at, 'precise')),
    clock: (at) => time(at, text(at, 'clock')),
    day: (at) => time(at, text(at, 'day')),
    zoneName: (at) => {
      const parts = formats.zoneName.formatToParts(ms(at));
      const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone;
      return html`<abbr title="${zone}">${name}</abbr>`;
    },
    span: (from, to) => {
      const [first, last] = [ms(from), ms(to)];
      const day = (at: number): string => formats.weekday.format(at).replace(',', '');
      const [begins, ends] = [day(first), day(last)].map(
        (each, index) => `${each}, ${formats.minute.format(index === 0 ? first : last)}`,
      );
      const isOneDay = day(first) === day(last);
      return html`
        ${time(first, begins ?? '')}
        ${isOneDay ? '–' : ' – '}
        ${time(last, isOneDay ? formats.minute.format(last) : (ends ?? ''))}
      `;
    },
    // The script keeps elements with these marks up to date.
    lasting: (at) =>
      html`
        <time datetime="${machineText(at)}" data-lasting>
          ${briefDuration(Math.max(0, now - ms(at)))}
        </time>
      `,
    ago: (at) =>
      html`
        <time datetime="${machineText(at)}" data-ago>
          ${agoText(now - ms(at))}
        </time>
      `,
  };
}

/** To the second: a page has fifty of these, and the rest of them is noise that weighs. */
function machineText(at: number | string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
