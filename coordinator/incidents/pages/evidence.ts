import type { getIncidentEvidence } from '../../../shared/api/incidents.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { isRecord } from '../../../shared/base/json.ts';
import type { Continents } from '../../../shared/base/text.ts';
import type { Witness } from '../../../shared/checks/result.ts';
import { byContinent, stateMark } from '../../web/elements.ts';
import { type Html, html, type Part } from '../../web/html.ts';
import { phaseColumn, phaseLegend, phasesMs } from '../../web/phases.ts';
import type { Times } from '../../web/times.ts';

/**
 * Evidence as rows that can be compared. All of it came from a target: it is shown as text, and
 * never followed.
 */
export type Check = {
  readonly continent: string | null;
  readonly place?: string | null;
  readonly phases: Readonly<Record<string, unknown>> | null;
  readonly evidence: Readonly<Record<string, unknown>> | null;
};

type Row = {
  readonly label: string;
  /** The text by which cells are compared; undefined when there is none. */
  readonly text: (check: Check) => string | undefined;
  /** Beside all checks of its row. */
  readonly cell?: (check: Check, all: readonly Check[]) => Part;
  /** What the cells have in common, below the label. */
  readonly legend?: (all: readonly Check[]) => Part;
  readonly code?: boolean;
  /** On a phone, it has all of the width. */
  readonly long?: boolean;
  /** Numbers that always vary are not marked as different. */
  readonly varies?: boolean;
};

const rows: readonly Row[] = [
  { label: 'Status', text: evidenceText('status') },
  { label: 'Health', text: evidenceText('serving_status') },
  { label: 'gRPC status', text: evidenceText('grpc_status') },
  { label: 'gRPC message', text: evidenceText('grpc_message'), code: true },
  { label: 'Address', text: evidenceText('address'), code: true },
  { label: 'IPv4 and IPv6', text: familiesText, code: true, long: true },
  {
    label: 'Phases',
    text: ({ phases }) => (phases === null ? undefined : 'phases'),
    cell: (check, all) => phaseColumn(check, Math.max(...all.map(phasesMs))),
    legend: phaseLegend,
    varies: true,
  },
  { label: 'Certificate', text: certificateText, long: true },
  { label: 'Response code', text: evidenceText('rcode'), code: true },
  { label: 'Answers', text: evidenceText('answers'), code: true, long: true },
  { label: 'Redirects', text: redirectText, code: true, long: true },
  { label: 'Headers', text: headerText('headers'), code: true, varies: true, long: true },
  { label: 'Trailers', text: headerText('trailers'), code: true, varies: true, long: true },
  { label: 'Response body', text: evidenceText('body'), code: true, long: true },
];

function evidenceText(name: string) {
  return ({ evidence }: Check): string | undefined => textOf(evidence?.[name]);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return undefined;
  return JSON.stringify(value);
}

/** Where both must answer: what came of each. */
function familiesText({ evidence }: Check): string | undefined {
  const families = evidence?.families;
  if (!Array.isArray(families) || families.length === 0) return undefined;
  return families
    .filter(isRecord)
    .map(({ family, address, status, cause }) =>
      [
        `${textOf(family) ?? '–'}:`,
        textOf(cause) ?? `status ${textOf(status) ?? '–'}`,
        textOf(address) && `from ${textOf(address)}`,
      ]
        .filter((part) => part !== undefined)
        .join(' '),
    )
    .join('\n');
}

function certificateText(check: Check): string | undefined {
  const leaf = leafOf(check);
  if (!leaf) return undefined;
  const until = textOf(leaf.not_after ?? leaf.valid_to ?? leaf.until);
  const subject = textOf(leaf.subject);
  return [subject, until === undefined ? undefined : `until ${until.slice(0, 10)}`]
    .filter((part) => part !== undefined)
    .join(', ');
}

function leafOf({ evidence }: Check): Readonly<Record<string, unknown>> | undefined {
  const tls = evidence?.tls;
  const chain = isRecord(tls) ? tls.chain : undefined;
  const leaf: unknown = Array.isArray(chain) ? chain[0] : undefined;
  return isRecord(leaf) ? leaf : undefined;
}

function redirectText({ evidence }: Check): string | undefined {
  const hops = evidence?.redirects;
  if (!Array.isArray(hops) || hops.length === 0) return undefined;
  return hops
    .filter(isRecord)
    .map((hop) => `${textOf(hop.status) ?? 'no answer'} ${textOf(hop.url) ?? ''}`)
    .join('\n');
}

function headerText(name: string) {
  return ({ evidence }: Check): string | undefined => {
    const headers = evidence?.[name];
    if (!Array.isArray(headers)) return undefined;
    return headers
      .filter((pair): pair is [unknown, unknown] => Array.isArray(pair) && pair.length === 2)
      .map(([name, value]) => `${String(name)}: ${String(value)}`)
      .join('\n');
  };
}

/** What most cells of a row say; of two that say different things, neither. */
function usual(seen: readonly string[]): string | undefined {
  const [most, next] = [...Map.groupBy(seen, (text) => text)]
    .map(([text, same]) => ({ text, count: same.length }))
    .toSorted((a, b) => b.count - a.count);
  return next === undefined || (most?.count ?? 0) > next.count ? most?.text : undefined;
}

/** One row for each kind of value, one column for each check. Cells unlike most others are marked. */
export function evidenceRows(checks: readonly Check[]): readonly Html[] {
  return [...rows, ...others(checks)].flatMap((row) => {
    const texts = checks.map((check) => row.text(check));
    if (texts.every((text) => text === undefined)) return [];
    const seen = texts.filter((text) => text !== undefined);
    const most = usual(seen);
    const differs = (text: string | undefined): boolean =>
      row.varies !== true && text !== undefined && text !== most;
    return [
      html`
        <tr class="${row.long && 'evidence-long'}">
          <th scope="row">${row.label}${row.legend?.(checks)}</th>
          ${checks.map((check) => cellOf(row, check, checks, differs(row.text(check))))}
        </tr>
      `,
    ];
  });
}

const named = new Set([
  'addresses',
  'attempts',
  'families',
  'failure',
  'status',
  'serving_status',
  'grpc_status',
  'grpc_message',
  'trailers',
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

/** Values of a newer probe for which this page has no row. */
function others(checks: readonly Check[]): Row[] {
  return [...new Set(checks.flatMap(({ evidence }) => Object.keys(evidence ?? {})))]
    .filter((name) => !named.has(name))
    .map((name) => ({
      label: name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '),
      text: evidenceText(name),
      code: true,
      varies: true,
    }));
}

function cellOf(
  { code, cell, long, text }: Row,
  check: Check,
  all: readonly Check[],
  differs: boolean,
): Html {
  const words = text(check);
  const shown =
    cell?.(check, all) ??
    (words === undefined
      ? html`<span class="softer">–</span>`
      : code
        ? html`<pre>${words}</pre>`
        : words);
  const mark =
    differs &&
    html`
      <span class="differs-mark" title="differs">
        ≠<span class="unseen"> differs</span>
      </span>
      ${' '}
    `;
  return placed([mark, shown], check, all, { look: differs && 'differs', isLong: long });
}

/** Names its place where a phone shows it away from its column: what is long, or one of more than three. */
function placed(
  inside: Part,
  { place, continent }: Check,
  all: readonly Check[],
  { look = '', isLong = false }: { look?: string | false; isLong?: boolean | undefined } = {},
): Html {
  const isNamed = all.length > (isLong ? 1 : 3);
  return html`
    <td class="${look}"${isNamed && html` data-label="${place ?? continent ?? ''}"`}>${inside}</td>
  `;
}

export type SeenCheck = OutputOf<typeof getIncidentEvidence>['checks'][number];

const roles: Readonly<Record<string, string>> = {
  seen: 'detected it',
  confirmed: 'confirmed it',
  matrix: 'rechecked',
};

const partOrder = ['seen', 'confirmed', 'matrix'];

/** One check for each continent or private place: its own observation before its recheck. */
export function checksByContinent(
  checks: readonly SeenCheck[],
): readonly (SeenCheck & { readonly continent: string })[] {
  const of = new Map<string, SeenCheck & { readonly continent: string }>();
  for (const check of checks.toSorted(
    (a, b) => partOrder.indexOf(a.part) - partOrder.indexOf(b.part),
  )) {
    const continent = check.continent ?? 'The job itself';
    const from = `${continent} ${check.place ?? ''}`;
    if (!of.has(from)) of.set(from, { ...check, continent });
  }
  return [...of.values()].toSorted(
    (a, b) =>
      partOrder.indexOf(a.part) - partOrder.indexOf(b.part) ||
      Number(a.place !== null) - Number(b.place !== null) ||
      byContinent(a, b),
  );
}

/** What they saw, where nothing else says it; null without any outside. */
export function continentsOf(checks: readonly SeenCheck[]): Continents | null {
  const outside = checksByContinent(checks).filter(({ place }) => place === null);
  const having = (outcome: string) =>
    outside.flatMap((each) => (each.outcome === outcome ? [each.continent] : []));
  return outside.length === 0 ? null : { failed: having('fail'), passed: having('ok'), asked: [] };
}

/** Of an incident that began at `began`. */
export function witnessesOf(checks: readonly SeenCheck[], began: string): readonly Witness[] {
  return checksByContinent(checks).map(({ continent, place, outcome, at }) => ({
    place: place ?? continent,
    outcome: outcome === 'ok' || outcome === 'fail' ? outcome : 'unknown',
    after_ms: Date.parse(at) - Date.parse(began),
  }));
}

/** What every continent saw, side by side; without the name of its probe where that is nobody's matter. */
export function evidenceMatrix(checks: readonly SeenCheck[], times: Times): Html {
  const all = checksByContinent(checks);
  const first = all[0];
  const offset = ({ at }: SeenCheck): string =>
    first ? `+${Math.max(0, Date.parse(at) - Date.parse(first.at))} ms` : '';
  return html`
    <div class="table-card evidence">
      <div class="table-scroll" tabindex="0" role="region" aria-label="Evidence by location">
        <table>
          <thead>
            <tr>
              <th scope="col">Location</th>
              ${all.map(
                (check) =>
                  html`
                    <th scope="col">
                      <span class="row-link">${check.place ?? check.continent}</span>
                      <span class="note">
                        ${check.place !== null && 'inside · '}${check.probe !== '' && check.probe !== check.place && `${check.probe} · `}
                        ${roles[check.part] ?? check.part}
                      </span>
                    </th>
                  `,
              )}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">Verdict</th>
              ${all.map((check) => placed(verdictOf(check), check, all, { look: tint(check) }))}
            </tr>
            <tr>
              <th scope="row">Checked at</th>
              ${all.map((check, at) =>
                placed(at === 0 ? times.precise(check.at) : offset(check), check, all),
              )}
            </tr>
            <tr>
              <th scope="row">Cause</th>
              ${all.map((check) =>
                placed(check.cause ?? html`<span class="softer">–</span>`, check, all),
              )}
            </tr>
            ${evidenceRows(all)}
          </tbody>
        </table>
      </div>
    </div>
  `;
}

function tint({ outcome }: SeenCheck): string {
  return outcome === 'fail' ? 'tint-down' : outcome === 'ok' ? 'tint-up' : 'tint-unknown';
}

function verdictOf({ outcome }: SeenCheck): Html {
  if (outcome === 'fail') return stateMark('down', 'Fails');
  return outcome === 'ok' ? stateMark('up', 'Passes') : stateMark('unknown', 'Inconclusive');
}
