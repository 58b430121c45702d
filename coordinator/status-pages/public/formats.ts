import { type Html, html } from '../../web/html.ts';
import type { PageLanguage } from '../model.ts';

/** Times, numbers and lists in a language and a time zone. */
export type Formats = {
  readonly zone: string;
  /** `14:02`; with the day when that is not today. `datetime` holds the exact time for programs. */
  readonly moment: (at: number) => Html;
  /** `20:03–20:51 CET`; with the day when that is not today. */
  readonly range: (from: number, to: number) => Html;
  /** `22 November 2026 at 14:02 CET`. */
  readonly whole: (at: number) => string;
  readonly wholeTime: (at: number) => Html;
  readonly day: (at: number) => string;
  readonly shortDay: (at: number) => string;
  readonly month: (at: number) => string;
  /** Its two largest units: `1 hour, 14 minutes`; seconds only below a minute. */
  readonly duration: (ms: number) => string;
  /** A percentage with at most four decimals; never rounded up, so that 100 means 100. */
  readonly percent: (value: number) => string;
  /** As people set it. */
  readonly target: (percent: number) => string;
  readonly milliseconds: (value: number) => string;
  readonly list: (names: readonly string[]) => string;
  readonly continent: (name: string) => string;
};

export function formatsOf(language: PageLanguage, zone: string, now: number): Formats {
  const kept = keptFor(language, zone);
  const today = kept.day.format(now);
  const isToday = (at: number): boolean => kept.day.format(at) === today;
  const momentText = (at: number): string => (isToday(at) ? kept.clock : kept.soon).format(at);
  const duration = (ms: number): string => {
    const left = Math.max(1_000, ms);
    const first = kept.units.findIndex(([size]) => left >= size);
    let rest = left;
    const parts: string[] = [];
    for (const [size, format] of kept.units.slice(
      first,
      Math.max(first + 1, Math.min(first + 2, kept.units.length - 1)),
    )) {
      const count = Math.floor(rest / size);
      if (count > 0) parts.push(unbroken(format.format(count)));
      rest -= count * size;
    }
    return kept.parts.format(parts);
  };
  return {
    zone,
    duration,
    moment: (at) => html`<time datetime="${iso(at)}">${momentText(at)}</time>`,
    range: (from, to) => {
      const format = isToday(from) && isToday(to) ? kept.clock : kept.soon;
      return html`
        <time datetime="${iso(from)}" data-to="${iso(to)}">${format.formatRange(from, to)}</time>
      `;
    },
    whole: (at) => kept.whole.format(at),
    wholeTime: (at) => html`<time datetime="${iso(at)}" data-whole>${kept.whole.format(at)}</time>`,
    day: (at) => kept.day.format(at),
    shortDay: (at) => kept.shortDay.format(at),
    month: (at) => kept.month.format(at),
    percent: (value) => kept.percent.format(Math.floor(Math.round(value * 10_000) / 100) / 10_000),
    target: (percent) => kept.target.format(percent / 100),
    milliseconds: (value) => unbroken(kept.milliseconds.format(value)),
    list: (names) => kept.list.format(names),
    continent: (name) => kept.regions.of(regionCodes[name] ?? '') ?? name,
  };
}

/** No line ends between a number and its unit. */
function unbroken(text: string): string {
  return text.replace(' ', '\u00a0');
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** Of UN M49, which every language names. */
const regionCodes: Readonly<Record<string, string>> = {
  Africa: '002',
  Antarctica: 'AQ',
  Asia: '142',
  Europe: '150',
  'North America': '003',
  Oceania: '009',
  'South America': '005',
};

type LocaleFormats = {
  readonly [form in 'clock' | 'soon' | 'whole' | 'day' | 'shortDay' | 'month']: Intl.DateTimeFormat;
} & {
  readonly units: readonly (readonly [ms: number, format: Intl.NumberFormat])[];
  readonly percent: Intl.NumberFormat;
  readonly target: Intl.NumberFormat;
  readonly milliseconds: Intl.NumberFormat;
  readonly list: Intl.ListFormat;
  readonly parts: Intl.ListFormat;
  readonly regions: Intl.DisplayNames;
};

const made = new Map<string, LocaleFormats>();

/** The locale of each language; English with the day before the month. */
const locales: Readonly<Record<PageLanguage, string>> = {
  en: 'en-GB',
  de: 'de-DE',
  fr: 'fr-FR',
  es: 'es-ES',
};

/** Creating a format costs fifty times as much as using it. */
function keptFor(language: PageLanguage, zone: string): LocaleFormats {
  const known = made.get(`${language} ${zone}`);
  if (known) return known;
  const locale = locales[language];
  const date = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, hourCycle: 'h23', ...options });
  const unit = (name: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'long' });
  const clock = { hour: '2-digit', minute: '2-digit' } as const;
  const kept: LocaleFormats = {
    clock: date({ ...clock, timeZoneName: 'short' }),
    soon: date({ day: 'numeric', month: 'short', ...clock, timeZoneName: 'short' }),
    whole: date({
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      ...clock,
      timeZoneName: 'short',
    }),
    day: date({ day: 'numeric', month: 'long', year: 'numeric' }),
    shortDay: date({ day: 'numeric', month: 'short' }),
    month: date({ month: 'long', year: 'numeric' }),
    units: [
      [86_400_000, unit('day')],
      [3_600_000, unit('hour')],
      [60_000, unit('minute')],
      [1_000, unit('second')],
    ],
    percent: new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }),
    target: new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 4 }),
    milliseconds: new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: 'millisecond',
      maximumFractionDigits: 0,
    }),
    list: new Intl.ListFormat(locale, { type: 'conjunction' }),
    parts: new Intl.ListFormat(locale, { type: 'unit', style: 'short' }),
    regions: new Intl.DisplayNames(locale, { type: 'region' }),
  };
  made.set(`${language} ${zone}`, kept);
  return kept;
}
