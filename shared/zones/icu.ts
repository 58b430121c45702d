import { type Resource, resourceFile } from './resource.ts';
import { type Change, type YearlyChange, yearlyAt, type ZoneFile } from './tzif.ts';

/** `zoneinfo64.res`, from which ICU, and so Node, has its time zones. Pure. */

export type Zones = {
  readonly version: string;
  readonly files: ReadonlyMap<string, ZoneFile>;
  /** By the names of zones: the country in which one is. */
  readonly countries: ReadonlyMap<string, string>;
};

export function zoneResource({ version, files, countries }: Zones): Buffer {
  // ICU names its own unknown zone.
  const all = new Map([...files, ['Etc/Unknown', unknown] as const]);
  const names = [...all.keys()].toSorted((a, b) => (a < b ? -1 : 1));
  const rules = new Map<string, readonly number[]>();
  const zones = names.map((name) => zoneOf(all.get(name) ?? unknown, rules));
  return resourceFile({
    table: {
      TZVersion: version,
      Zones: { array: zones },
      Names: { array: names },
      Rules: {
        table: Object.fromEntries([...rules].map(([name, numbers]) => [name, { numbers }])),
      },
      Regions: { array: names.map((name) => countries.get(name) ?? '001') },
    },
  });
}

const unknown: ZoneFile = {
  first: { offset: 0, isDst: false },
  changes: [],
  footer: { offset: 0 },
};

/** Changes of a rule go on from the year after the next. */
const yearsWritten = 2;

function zoneOf(
  { first, changes: known, footer: { offset, summer } }: ZoneFile,
  rules: Map<string, readonly number[]>,
): Resource {
  if (summer === undefined) return { table: historyOf(first.offset, known) };
  const last = known.at(-1)?.at ?? 0;
  const year = new Date(last * 1_000).getUTCFullYear();
  const isLate = summer.offset > offset;
  const following = [year, year + 1]
    .flatMap((each): Change[] => [
      { at: yearlyAt(each, summer.begins) - offset, offset: summer.offset, isDst: isLate },
      { at: yearlyAt(each, summer.ends) - summer.offset, offset, isDst: !isLate },
    ])
    .filter(({ at }) => at > last)
    .toSorted((a, b) => a.at - b.at);
  // ICU knows no winter time that is put back from the standard.
  const [begins, ends] = isLate ? [summer.begins, summer.ends] : [summer.ends, summer.begins];
  const rule = [...ruleOf(begins), ...ruleOf(ends), Math.abs(summer.offset - offset)];
  const name = `r${rule.join('_').replaceAll('-', 'm')}`;
  rules.set(name, rule);
  return {
    table: {
      ...historyOf(first.offset, [...known, ...following]),
      finalRule: name,
      finalRaw: Math.min(offset, summer.offset),
      finalYear: year + yearsWritten,
    },
  };
}

const longestSummer = 7_200;

function historyOf(began: number, changes: readonly Change[]): Readonly<Record<string, Resource>> {
  let standard = began;
  const kinds = new Map<string, { readonly nth: number; readonly pair: readonly number[] }>();
  const kindOf = ({ offset, isDst }: Pick<Change, 'offset' | 'isDst'>): number => {
    if (!isDst) standard = offset;
    const more = offset - standard;
    const saved = !isDst ? 0 : more > 0 && more <= longestSummer ? more : 3_600;
    const pair = [offset - saved, saved];
    const known = kinds.get(pair.join());
    if (known) return known.nth;
    kinds.set(pair.join(), { nth: kinds.size, pair });
    return kinds.size - 1;
  };
  kindOf({ offset: began, isDst: false });
  const bytes = changes.map(kindOf);
  const within = (from: number, to: number): readonly number[] =>
    changes.flatMap(({ at }) => (at >= from && at < to ? [at] : []));
  const end = 2 ** 31;
  const halves = (at: number): readonly number[] => [Math.floor(at / 2 ** 32), at];
  const lists = {
    transPre32: within(Number.NEGATIVE_INFINITY, -end).flatMap(halves),
    trans: within(-end, end),
    transPost32: within(end, Number.POSITIVE_INFINITY).flatMap(halves),
  };
  return {
    typeOffsets: { numbers: [...kinds.values()].flatMap(({ pair }) => pair) },
    ...(bytes.length === 0 ? {} : { typeMap: { bytes } }),
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, numbers]) =>
        numbers.length === 0 ? [] : [[name, { numbers }]],
      ),
    ),
  };
}

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Month from 0, the weekday from 1 on or after a day (negative), seconds, by the clocks until then. */
function ruleOf({ month, week, weekday, seconds }: YearlyChange): readonly number[] {
  const days = Math.floor(seconds / 86_400);
  const least = week < 5 ? 1 + 7 * (week - 1) : (monthLengths[month - 1] ?? 31) - 6;
  return [
    month - 1,
    least + days,
    -((((weekday + days) % 7) + 7) % 7) - 1,
    seconds - days * 86_400,
    0,
  ];
}
