import { isRecord } from '../base/json-record.ts';
import type { Around, Told, Tool } from './tool.ts';
import { closing, oneLine, opening } from './tool-lines.ts';

/** Response times as a line for each continent: what a chart shows at a glance, in a few numbers. */

type Item = Readonly<Record<string, unknown>>;

const records = (value: unknown): Item[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

const sumOf = (points: readonly Item[], key: string): number => points.reduce((sum, point) => sum + numberOf(point[key]), 0);

const rounded = (ms: number): string => (ms < 10 ? ms.toFixed(1) : String(Math.round(ms)));

/** Of all passes, whichever point they stand in. */
const meanOf = (points: readonly Item[]): number | undefined => {
  const passed = points.filter(({ mean_ms, ok }) => typeof mean_ms === 'number' && numberOf(ok) > 0);
  const checks = sumOf(passed, 'ok');
  return checks === 0 ? undefined : passed.reduce((sum, { mean_ms, ok }) => sum + numberOf(mean_ms) * numberOf(ok), 0) / checks;
};

const parts = 12;

const lineOf = ({ continent, points: those }: Item, from: number, to: number): string => {
  const points = records(those);
  const known = (key: string): number[] => points.flatMap((point) => (typeof point[key] === 'number' ? [point[key]] : []));
  const mean = meanOf(points);
  const [least, most] = [known('least_ms'), known('most_ms')];
  const through = Array.from({ length: parts }, (_, nth) => {
    const [begin, end] = [from + ((to - from) * nth) / parts, from + ((to - from) * (nth + 1)) / parts];
    const part = meanOf(points.filter(({ at }) => Date.parse(String(at)) >= begin && Date.parse(String(at)) < end));
    return part === undefined ? '-' : rounded(part);
  });
  return [
    oneLine(continent, 20),
    `${sumOf(points, 'ok')} passed, ${sumOf(points, 'failed')} failed`,
    mean === undefined ? '-' : rounded(mean),
    least.length === 0 ? '-' : rounded(Math.min(...least)),
    most.length === 0 ? '-' : rounded(Math.max(...most)),
    through.join(' '),
  ].join(' | ');
};

export const responseTimes = async ({ ask }: Around, given: Item, { operation }: Pick<Tool, 'operation'>): Promise<Told> => {
  const { from, to, series } = await ask(operation, given);
  const lines = records(series).map((one) => lineOf(one, Date.parse(String(from)), Date.parse(String(to))));
  const columns = `continent | checks | mean ms | least ms | most ms | mean ms of each twelfth of the time, oldest first`;
  const title = `Response times from ${String(from)} to ${String(to)}`;
  return { texts: [[opening, title, columns, ...lines, closing].join('\n')] };
};
