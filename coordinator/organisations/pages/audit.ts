import type { OutputOf } from '../../../shared/api/operation.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { csvLine } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { heading, moreLink, nothing } from '../../web/elements.ts';
import { dayAfter, dayOf, dayWords, fieldEnds, filterFields } from '../../web/filter.ts';
import { formOf } from '../../web/form-data.ts';
import { type FormState, freshForm, selectField, textField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, query, safeUrl } from '../../web/html.ts';
import { forMembers, type MembersRequest, send, show } from '../../web/page.ts';
import { stacked } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import { fieldName } from '../audit-sentences.ts';
import { getAuditChoices } from '../contract.ts';

type Values = Readonly<Record<string, unknown>>;

export type Change = {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** The differences between two states of a thing; everything where there is only one state. */
export function changesOf(before: Values | null, after: Values | null): readonly Change[] {
  const [was, is] = [flat(before), flat(after)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
    const [from, to] = [was.get(key) ?? undefined, is.get(key) ?? undefined];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    const text = (value: unknown) => (value === undefined ? undefined : textOf(value, key));
    return [{ key, before: text(from), after: text(to) }];
  });
}

/** Flattens nested settings by one level, so that of a long object only changes are shown. */
function flat(values: Values | null): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(values ?? {}).flatMap(([key, value]) =>
      isRecord(value)
        ? Object.entries(value).map(([inner, each]): [string, unknown] => [`${key}.${inner}`, each])
        : [[key, value]],
    ),
  );
}

/** Of lists of ids or of objects people learn the length; the CSV has them whole. */
function textOf(value: unknown, key: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && value > 0 && key.endsWith('_s'))
    return durationText(value * 1_000);
  if (typeof value === 'number' && key.endsWith('_ms')) return `${value} ms`;
  if (!Array.isArray(value)) return JSON.stringify(value);
  const texts = value.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
  if (value.length > 0 && !value.some(isRecord) && !texts.every(isId)) return texts.join(', ');
  return value.length === 0 ? 'none' : `${value.length} ${value.length === 1 ? 'item' : 'items'}`;
}

function isId(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text);
}

const most = 160;

const shown = 6;

const throughText: Readonly<Record<string, string>> = {
  page: 'Web',
  api: 'API',
  assistant: 'Assistant',
  operator: 'Operator command',
};

const idLists = ['paused', 'resumed', 'deleted', 'restored', 'monitors', 'groups', 'tags', 'mutes'];

const trail = [{ href: '/organisation', name: 'Organisation' }];

/** Who changed what, with both values. */
export const auditPage = forMembers.get('/audit', async (request) => {
  const { ask, caller } = request;
  const filter = filterOf(request.query);
  const { cursor } = request.query;
  const isFiltered = Object.values(filter).some((each) => each !== '');
  const [{ items, next_cursor }, { menu, ends }] = await Promise.all([
    ask(listAudit, { ...inputFor(filter), ...(cursor === undefined ? {} : { cursor }) }),
    filterOfList(request, filter),
  ]);
  const none = isFiltered
    ? 'No changes match this filter.'
    : 'No changes yet. Every change is kept for 400 days.';
  return show({
    title: 'Audit log',
    place: 'organisation',
    live: cursor === undefined && !isFiltered,
    main: html`
        ${heading({
          sentence: isFiltered ? 'Audit log' : todayWords(items, next_cursor !== null, request),
          below: `Audit log of every change in ${caller.organisation.name}, kept for 400 days. Secrets are hidden.`,
          trail,
          actions: html`
            <a
              class="button"
              href="${safeUrl(`/audit.csv${query(filter)}`)}"
              download
              data-no-prefetch
            >
              ${icon('downwards')}Download as CSV
            </a>
            ${menu}
          `,
        })}
        ${ends}
        ${
          items.length === 0
            ? nothing('audit', none)
            : html`
              <div class="table-card">
                <table class="cards audit">
                  <thead>
                    <tr>
                      <th scope="col">Time</th>
                      <th scope="col">Who</th>
                      <th scope="col">What</th>
                      <th scope="col">Changes</th>
                    </tr>
                  </thead>
                  ${daysOf(items, request)}
                </table>
              </div>
              ${
                next_cursor !== null &&
                moreLink(`/audit${query({ ...filter, cursor: next_cursor })}`, 'Earlier')
              }
            `
        }
      `,
  });
});

/** `5 changes today` */
function todayWords(
  items: readonly Entry[],
  isMore: boolean,
  { times, now }: MembersRequest,
): string {
  const today = times.text(now, 'day');
  const count = items.filter(({ at }) => times.text(at, 'day') === today).length;
  if (count === 0) return 'No changes today';
  return `${isMore && count === items.length ? 'More than ' : ''}${count === 1 ? 'One change' : `${count} changes`} today`;
}

/** The filter of the list; an invalid date is ignored. `to` is a day that is included. */
function filterOf({ who = '', operation = '', from = '', to = '' }: MembersRequest['query']) {
  return {
    who,
    operation,
    from: dayOf(from),
    to: dayOf(to),
  };
}

type Filter = ReturnType<typeof filterOf>;

function inputFor({ who, operation, from, to }: Filter) {
  return {
    ...(who === '' ? {} : { who }),
    ...(operation === '' ? {} : { operation }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { until: dayAfter(to) }),
  };
}

async function filterOfList({ ask }: MembersRequest, filter: Filter) {
  const choices = await ask(getAuditChoices);
  const state: FormState = freshForm(formOf(filter));
  const whos = [
    { value: '', label: 'Anyone' },
    ...choices.who.map((each) => ({ value: each, label: each === '' ? 'Unknown' : each })),
  ];
  const whats = [
    { value: '', label: 'Any change' },
    ...choices.operations.map(({ id, what }) => ({ value: id, label: what })),
  ];
  const words = {
    operation: whats.find(({ value }) => value === filter.operation)?.label ?? filter.operation,
    ...dayWords(filter),
  };
  return {
    menu: filterFields(
      '/audit',
      html`
        ${selectField({ name: 'who', label: 'Who', choices: whos, state })}
        ${selectField({ name: 'operation', label: 'What', choices: whats, state })}
        ${textField({ name: 'from', label: 'From', type: 'date', state })}
        ${textField({ name: 'to', label: 'To', type: 'date', state })}
      `,
    ),
    ends: fieldEnds('/audit', filter, words),
  };
}

type Listed = OutputOf<typeof listAudit>;

type Entry = Listed['items'][number];

/** The entries of each day below its heading; they come newest first. */
function daysOf(items: readonly Entry[], request: MembersRequest): readonly Html[] {
  const { times, now } = request;
  const today = times.text(now, 'day');
  return [...Map.groupBy(items, ({ at }) => times.text(at, 'day'))].map(
    ([day, entries]) =>
      html`
        <tbody>
          <tr class="part">
            <th scope="rowgroup" colspan="4">${day === today ? `Today, ${day}` : day}</th>
          </tr>
          ${entries.map((each) => rowOf(each, request))}
        </tbody>
      `,
  );
}

function rowOf(entry: Entry, { times }: MembersRequest): Html {
  const name = nameIn(entry);
  // Of several monitors their names are listed: lists of their ids say nothing beside them.
  const isNamed = Array.isArray(entry.after?.names ?? entry.before?.names);
  const changes = changesOf(entry.before, entry.after).filter(
    ({ key, before, after }) =>
      (!isNamed || !idLists.includes(key)) &&
      !(['name', 'email'].includes(key) && (before ?? after) === name),
  );
  return html`
    <tr id="entry-${entry.id}">
      <td data-label="Time">${times.clock(entry.at)}</td>
      <td data-label="Who">
        ${stacked(entry.who === '' ? 'Unknown' : entry.who, howOf(entry))}
      </td>
      <td class="subject">
        <span>${entry.what} ${name !== '' && html`<b>${name}</b>`}</span>
      </td>
      <td data-label="Changes">${changes.length > 0 && changeList(changes, times)}</td>
    </tr>
  `;
}

function nameIn({ before, after, subject }: Entry): string {
  const named = [after?.name, before?.name, subject, after?.email, before?.email].find(
    (each) => typeof each === 'string' && each !== '',
  );
  return typeof named === 'string' ? named : '';
}

function howOf({ through, token_name, address }: Entry): Part {
  return html`
    ${throughText[through] ?? through}
    ${token_name !== null && ` (${token_name})`}
    ${address !== null && `, ${address}`}
  `;
}

function changeList(changes: readonly Change[], times: Times): Html {
  return html`
    <ul class="changes">
      ${changes.slice(0, shown).map(
        ({ key, before, after }) =>
          html`
            <li>
              <b>${fieldName(key)}</b> ${
                before !== undefined &&
                html`${valueText(before, times)} ${icon('onwards')}<span class="unseen">to</span> `
              }${valueText(after, times)}
            </li>
          `,
      )}
      ${
        changes.length > shown &&
        html`<li class="softer">and ${changes.length - shown} more in the CSV</li>`
      }
    </ul>
  `;
}

/** Inside a sentence; a long value is cut here and complete in the file. */
function valueText(value: string | undefined, times: Times): Part {
  if (value === undefined || value === '') return html`<i>empty</i>`;
  return isMoment(value) ? times.whole(value) : html`<span>${cut(value)}</span>`;
}

function isMoment(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text));
}

function cut(text: string): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const columns = [
  'at',
  'who',
  'through',
  'token',
  'address',
  'operation',
  'what',
  'about',
  'before',
  'after',
];

export const auditFile = forMembers.get('/audit.csv', async (request) => {
  const input = inputFor(filterOf(request.query));
  const first = await request.ask(listAudit, { ...input, limit: 200 });
  const name = `audit-${new Date(request.now).toISOString().slice(0, 10)}.csv`;
  return send({
    type: 'text/csv; charset=utf-8',
    body: lines(request, input, first),
    headers: {
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    },
  });
});

/**
 * Further pages of the list. The first is read before anything is sent, so that a refusal still
 * gets its own page.
 */
async function* lines(
  { ask }: MembersRequest,
  input: object,
  first: Listed,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let page = first; ; ) {
    yield page.items.map(lineOf).join('');
    if (page.next_cursor === null) return;
    page = await ask(listAudit, { ...input, limit: 200, cursor: page.next_cursor });
  }
}

function lineOf({
  at,
  who,
  through,
  token_name,
  address,
  operation,
  what,
  about,
  before,
  after,
}: Entry): string {
  return csvLine([
    at,
    who,
    through,
    token_name ?? '',
    address ?? '',
    operation,
    what,
    json(about),
    json(before),
    json(after),
  ]);
}

function json(value: object | null): string {
  return value === null ? '' : JSON.stringify(value);
}
