/** A file of the time zone database (TZif, RFC 9636), as systems keep one for each zone. Pure. */

type Kind = { readonly offset: number; readonly isDst: boolean };
export type Change = Kind & { readonly at: number };

/** A moment of each year, by the clocks until then. */
export type YearlyChange = {
  /** From 1. */
  readonly month: number;
  /** The nth of the month; 5: the last. */
  readonly week: number;
  /** Sunday is 0. */
  readonly weekday: number;
  /** May be negative or longer than a day. */
  readonly seconds: number;
};

/** What goes on after the last change that is written down. */
type Footer = {
  readonly offset: number;
  readonly summer?: {
    readonly offset: number;
    readonly begins: YearlyChange;
    readonly ends: YearlyChange;
  };
};

export type ZoneFile = {
  readonly first: Kind;
  readonly changes: readonly Change[];
  readonly footer: Footer;
};

const headBytes = 44;

/** @throws Error */
export function readZoneFile(bytes: Buffer): ZoneFile {
  if (bytes.toString('latin1', 0, 4) !== 'TZif') throw new Error('it is no file of a time zone');
  const countsAt = (at: number) => {
    const count = (nth: number): number => bytes.readUInt32BE(at + 20 + 4 * nth);
    return {
      flags: count(0) + count(1),
      leaps: count(2),
      changes: count(3),
      kinds: count(4),
      letters: count(5),
    };
  };
  // The same in 32 bits comes first, and is not needed.
  const old = countsAt(0);
  const head =
    headBytes + old.changes * 5 + old.kinds * 6 + old.letters + old.leaps * 8 + old.flags;
  const { flags, leaps, changes, kinds, letters } = countsAt(head);
  const times = head + headBytes;
  const indexes = times + changes * 8;
  const kindsAt = indexes + changes;
  const kind = (nth: number): Kind => ({
    offset: bytes.readInt32BE(kindsAt + nth * 6),
    isDst: bytes[kindsAt + nth * 6 + 4] === 1,
  });
  const footerAt = kindsAt + kinds * 6 + letters + leaps * 12 + flags + 1;
  return {
    first: kind(0),
    changes: Array.from({ length: changes }, (_, nth) => ({
      at: Number(bytes.readBigInt64BE(times + nth * 8)),
      ...kind(bytes[indexes + nth] ?? 0),
    })),
    footer: readFooter(bytes.toString('latin1', footerAt, bytes.indexOf('\n', footerAt))),
  };
}

const name = '(?:[A-Za-z]+|<[^>]+>)';
const time = '[+-]?[\\d:]+';
const yearly = `M(\\d+)\\.(\\d)\\.(\\d)(?:/(${time}))?`;
const footerForm = new RegExp(`^${name}(${time})(?:(${name})(${time})?,${yearly},${yearly})?$`);

/** As POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`. */
function readFooter(text: string): Footer {
  const [whole, standard = '', summer, summerOffset, ...parts] = footerForm.exec(text) ?? [];
  if (whole === undefined) throw new Error(`the end of the file says ${text}, which is unknown`);
  const offset = -secondsOf(standard);
  if (summer === undefined) return { offset };
  const changeOf = ([month, week, weekday, at]: readonly (string | undefined)[]): YearlyChange => ({
    month: Number(month),
    week: Number(week),
    weekday: Number(weekday),
    seconds: at === undefined ? 7_200 : secondsOf(at),
  });
  return {
    offset,
    summer: {
      offset: summerOffset === undefined ? offset + 3_600 : -secondsOf(summerOffset),
      begins: changeOf(parts.slice(0, 4)),
      ends: changeOf(parts.slice(4)),
    },
  };
}

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number);
  const total = hours * 3_600 + minutes * 60 + seconds;
  return text.startsWith('-') ? -total : total;
}

/** The seconds since 1970 at which it is, as if its clocks were those of UTC. */
export function yearlyAt(year: number, { month, week, weekday, seconds }: YearlyChange): number {
  const first = new Date(Date.UTC(year, month - 1, 1));
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  let day = 1 + ((weekday - first.getUTCDay() + 7) % 7) + 7 * (week - 1);
  if (day > length) day -= 7;
  return first.getTime() / 1_000 + (day - 1) * 86_400 + seconds;
}
