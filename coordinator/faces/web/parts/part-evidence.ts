import { isRecord } from '../../../../shared/base/json.ts';
import { type Html, html, type Part } from '../web-html.ts';

/** Evidence as rows that can be compared. All of it came from a target: it is shown as text, and never followed. */
export type Check = {
  readonly continent: string | null;
  readonly phases: Readonly<Record<string, unknown>> | null;
  readonly evidence: Readonly<Record<string, unknown>> | null;
};

type Row = {
  readonly label: string;
  /** What the cells are compared by; undefined: there is none. */
  readonly text: (check: Check) => string | undefined;
  readonly cell?: (check: Check) => Part;
  readonly code?: boolean;
  /** Numbers that are never alike are not marked as different. */
  readonly varies?: boolean;
};

const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return undefined;
  return JSON.stringify(value);
};

const evidenceText =
  (name: string) =>
  ({ evidence }: Check): string | undefined =>
    textOf(evidence?.[name]);

const phase = ({ phases }: Check, name: string): string => {
  const value = phases?.[name];
  return typeof value === 'number' ? String(Math.round(value)) : '–';
};

const phasesText = (check: Check): string | undefined =>
  check.phases === null
    ? undefined
    : `${phase(check, 'dns')} · ${phase(check, 'tcp')} · ${phase(check, 'tls')} · ${phase(check, 'first_byte')} ms`;

const leafOf = ({ evidence }: Check): Readonly<Record<string, unknown>> | undefined => {
  const tls = evidence?.tls;
  const chain = isRecord(tls) ? tls.chain : undefined;
  const leaf: unknown = Array.isArray(chain) ? chain[0] : undefined;
  return isRecord(leaf) ? leaf : undefined;
};

const certificateText = (check: Check): string | undefined => {
  const leaf = leafOf(check);
  if (!leaf) return undefined;
  const until = textOf(leaf.not_after ?? leaf.valid_to ?? leaf.until);
  const subject = textOf(leaf.subject);
  return [subject, until === undefined ? undefined : `until ${until.slice(0, 10)}`].filter((part) => part !== undefined).join(', ');
};

const headerText = (check: Check): string | undefined => {
  const headers = check.evidence?.headers;
  if (!Array.isArray(headers)) return undefined;
  return headers
    .filter((pair): pair is [unknown, unknown] => Array.isArray(pair) && pair.length === 2)
    .map(([name, value]) => `${String(name)}: ${String(value)}`)
    .join('\n');
};

const redirectText = ({ evidence }: Check): string | undefined => {
  const hops = evidence?.redirects;
  if (!Array.isArray(hops) || hops.length === 0) return undefined;
  return hops
    .filter(isRecord)
    .map((hop) => `${textOf(hop.status) ?? 'no answer'} ${textOf(hop.url) ?? ''}`)
    .join('\n');
};

const rows: readonly Row[] = [
  { label: 'Status', text: evidenceText('status') },
  { label: 'Address', text: evidenceText('address'), code: true },
  { label: 'DNS · TCP · TLS · first byte', text: phasesText, varies: true },
  { label: 'Certificate', text: certificateText },
  { label: 'Answer code', text: evidenceText('rcode'), code: true },
  { label: 'Answers', text: evidenceText('answers'), code: true },
  { label: 'Redirects', text: redirectText, code: true },
  { label: 'Headers', text: headerText, code: true, varies: true },
  { label: 'Body begins', text: evidenceText('body'), code: true },
];

const named = new Set([
  'addresses',
  'attempts',
  'failure',
  'status',
  'address',
  'rcode',
  'answers',
  'redirects',
  'headers',
  'body',
  'tls',
  'body_bytes',
  'body_truncated',
  'url',
]);

/** What a newer probe tells and this page has no row for. */
const others = (checks: readonly Check[]): Row[] =>
  [...new Set(checks.flatMap(({ evidence }) => Object.keys(evidence ?? {})))]
    .filter((name) => !named.has(name))
    .map((name) => ({
      label: name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '),
      text: evidenceText(name),
      code: true,
      varies: true,
    }));

const cellOf = ({ code, cell, text }: Row, check: Check, differs: boolean): Html => {
  const words = text(check);
  const shown = cell?.(check) ?? (words === undefined ? html`<span class="softer">–</span>` : code ? html`<pre>${words}</pre>` : words);
  return html`<td data-label="${check.continent ?? ''}"${differs && html` class="differs"`}>${differs && html`<span class="differs-mark" title="not alike">≠<span class="unseen"> not alike</span></span> `}${shown}</td>`;
};

/** A row for each thing that somebody saw, a column for each check. Cells that are not alike are marked. */
export const evidenceRows = (checks: readonly Check[]): readonly Html[] =>
  [...rows, ...others(checks)].flatMap((row) => {
    const texts = checks.map((check) => row.text(check));
    if (texts.every((text) => text === undefined)) return [];
    const seen = texts.filter((text) => text !== undefined);
    const differs = row.varies !== true && new Set(seen).size > 1;
    return [
      html`<tr><th scope="row">${row.label}</th>${checks.map((check) => cellOf(row, check, differs && row.text(check) !== undefined))}</tr>`,
    ];
  });
