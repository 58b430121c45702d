import { isRecord } from '../base/json-record.ts';
import type { Fields } from './client-chosen-fields.ts';
import { type Colour, duration, harmless, type Paint, relative } from './client-terminal.ts';

/** Answers for people: a list as a table, a single thing as a card. What the service may add later is shown as well. */
export type Terminal = { readonly columns: number; readonly paint: Paint; readonly now: number; readonly fields?: Fields | undefined };

export type Item = Readonly<Record<string, unknown>>;

/** What a word means, wherever it stands; status is always told as a word, colour only helps the eye. */
const meanings: Readonly<Record<string, Colour>> = {
  up: 'green',
  down: 'red',
  verifying: 'yellow',
  pending: 'grey',
  paused: 'grey',
  open: 'red',
  resolved: 'green',
  created: 'green',
  changed: 'green',
  refused: 'red',
  left: 'grey',
};
export const meaningKeys = new Set(['status', 'state', 'result']);

export const timeOf = (value: unknown): number | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? Date.parse(value) : undefined;

/** The day of a time, as it is written. */
export const dayOf = (value: unknown): string => String(value).slice(0, 10);

/** A number with its unit. What was typed in seconds stays so; what lasted is told as people tell it. */
const numberText = (key: string, value: number): string => {
  if (key === 'duration_s' || key.endsWith('_seconds')) return duration(value * 1000);
  if (key.endsWith('_s')) return `${value} s`;
  return key.startsWith('percent') ? `${value} %` : String(value);
};

export const plainText = (key: string, value: unknown, now: number): string => {
  if (value === null || value === undefined || value === '') return '–';
  const time = timeOf(value);
  if (time !== undefined) return relative(time, now);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return numberText(key, value);
  if (Array.isArray(value)) return value.length === 0 ? '–' : String(value.length);
  if (isRecord(value)) {
    const { name, continent, code, message } = value;
    if (typeof code === 'string' && typeof message === 'string') return harmless(message);
    return typeof name === 'string' && typeof continent === 'string' ? harmless(`${name} (${continent})`) : harmless(JSON.stringify(value));
  }
  return harmless(String(value));
};

/** An incident says open or resolved as a word of its own. */
export const withState = (item: Item): Item =>
  typeof item.open === 'boolean' && Object.hasOwn(item, 'confirmed_at')
    ? { state: item.open ? (item.confirmed_at === null ? 'verifying' : 'open') : 'resolved', ...item }
    : item;

export const painted = (key: string, text: string, paint: Paint): string => {
  const colour = meaningKeys.has(key) ? meanings[text.trim()] : undefined;
  return colour ? paint(text, colour) : text;
};

export const title = (key: string): string => key.replaceAll('_', ' ').replace(/ (s|at|seconds)$/, '');
