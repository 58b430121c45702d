import { quantile, type Row } from './judge.ts';

/** What was measured, as rows for programs and as tables for people. Pure. */

const columns = [
  'scenario',
  'phase',
  'subject',
  'verdict',
  'told',
  'failed_at',
  'lasted_s',
  'alert_s',
  'seen_s',
  'clear_s',
  'messages',
] as const satisfies readonly (keyof Row)[];

export function tsvOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((name) => cellOf(row[name])).join('\t'));
  return `${[columns.join('\t'), ...lines].join('\n')}\n`;
}

function cellOf(value: Row[keyof Row]): string {
  if (value === null) return '';
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(3) : String(value);
}

/** @throws on what this room did not write. */
export function rowsOf(tsv: string): readonly Row[] {
  const [head = '', ...lines] = tsv.trimEnd().split('\n');
  if (head !== columns.join('\t')) throw new Error(`these are other columns: ${head}`);
  return lines.map((line) => {
    const cells = line.split('\t');
    const text = (name: keyof Row): string => cells[columns.indexOf(name)] ?? '';
    const number = (name: keyof Row): number | null =>
      text(name) === '' ? null : Number(text(name));
    return {
      scenario: text('scenario'),
      phase: number('phase') ?? 0,
      subject: text('subject'),
      verdict: verdictOf(text('verdict')),
      told: text('told') === 'true',
      failed_at: number('failed_at') ?? 0,
      lasted_s: number('lasted_s') ?? 0,
      alert_s: number('alert_s'),
      seen_s: number('seen_s'),
      clear_s: number('clear_s'),
      messages: number('messages') ?? 0,
    };
  });
}

function verdictOf(text: string): Row['verdict'] {
  if (text === 'right' || text === 'missed' || text === 'false') return text;
  throw new Error(`there is no such verdict: ${text}`);
}

/** In the order in which they come first. */
export function namesOf(rows: readonly Row[], of: 'scenario' | 'subject'): readonly string[] {
  return [...new Set(rows.map((row) => row[of]))];
}

/** A row for each scenario, a column for each subject. */
export function tableOf(rows: readonly Row[]): string {
  const subjects = namesOf(rows, 'subject');
  const lines = namesOf(rows, 'scenario').map((scenario) => {
    const cells = subjects.map((subject) =>
      summaryOf(rows.filter((row) => row.scenario === scenario && row.subject === subject)),
    );
    return `| ${[scenario, ...cells].join(' | ')} |`;
  });
  return [
    `| ${['', ...subjects].join(' | ')} |`.replace('|  |', '| |'),
    `|${'---|'.repeat(subjects.length + 1)}`,
    ...lines,
  ].join('\n');
}

/** Right of all, what was wrong, median and longest time until the alert, and messages. */
function summaryOf(rows: readonly Row[]): string {
  if (rows.length === 0) return '–';
  const count = (is: (row: Row) => boolean): number => rows.filter(is).length;
  const right = count(({ verdict }) => verdict === 'right');
  const wrong = (['missed', 'false'] as const).flatMap((verdict) => {
    const many = count((row) => row.verdict === verdict);
    return many === 0 ? [] : [`${many} ${verdict}`];
  });
  const told = count((row) => row.told);
  const alerts = rows.flatMap(({ alert_s }) => alert_s ?? []);
  const messages = rows.reduce((sum, row) => sum + row.messages, 0);
  return [
    `${right} of ${rows.length}`,
    ...wrong,
    ...(told === 0 || told === rows.length ? [] : [`told ${told}`]),
    ...(told === 0
      ? []
      : [
          `${secondsOf(quantile(alerts, 0.5))} (${secondsOf(quantile(alerts, 1))})`,
          `${(messages / told).toFixed(1)} messages`,
        ]),
  ].join('<br>');
}

/** Failures that a check meets at once; after the others it has waited for its time limit. */
const waits = ['silent', 'slow-headers'];
/** Of these a check may see nothing. */
const chancy = ['brownout', 'blip', 'deploy'];

/** From the failure until the receiver had the alert, and of that from the first failing check on. */
export function delaysOf(rows: readonly Row[]): string {
  const lines = namesOf(rows, 'subject').flatMap((subject) =>
    [false, true].map((isWaited) => {
      const alerts = rows.filter(
        (row) =>
          row.subject === subject &&
          row.alert_s !== null &&
          row.verdict === 'right' &&
          !chancy.includes(row.scenario) &&
          waits.includes(row.scenario) === isWaited,
      );
      const whole = alerts.flatMap(({ alert_s }) => alert_s ?? []);
      const confirming = alerts.flatMap(({ alert_s, seen_s }) =>
        alert_s === null || seen_s === null ? [] : [alert_s - seen_s],
      );
      return `| ${[
        subject,
        isWaited ? 'no answer' : 'a wrong answer',
        alerts.length,
        bothOf(whole),
        bothOf(confirming),
      ].join(' | ')} |`;
    }),
  );
  return [
    '| | the target gives | alerts | from the failure, median / p99 | from the first failing check |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

function bothOf(values: readonly number[]): string {
  return `${secondsOf(quantile(values, 0.5))} / ${secondsOf(quantile(values, 0.99))}`;
}

function secondsOf(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(1)} s`;
}
