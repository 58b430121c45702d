import { isRecord } from '../../../../shared/base/json.ts';
import { type Html, html, type Part } from '../web-html.ts';
import { icon } from '../web-icons.ts';

type Values = Readonly<Record<string, unknown>>;

export type Change = { readonly key: string; readonly before: string | undefined; readonly after: string | undefined };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A settings object one level down, so that of a long one only what changed is told. */
const flat = (values: Values | null): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries(values ?? {}).flatMap(([key, value]) =>
      isRecord(value) ? Object.entries(value).map(([inner, each]): [string, unknown] => [`${key}.${inner}`, each]) : [[key, value]],
    ),
  );

/** What differs between two states of a thing; all of it where there is one state alone. */
export const changesOf = (before: Values | null, after: Values | null): readonly Change[] => {
  const [was, is] = [flat(before), flat(after)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
    const [from, to] = [was.get(key), is.get(key)].map((value) => (value === undefined || value === null ? undefined : textOf(value)));
    return from === to ? [] : [{ key, before: from, after: to }];
  });
};

const most = 160;
const cut = (text: string): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** Inside a sentence; a value that is long is cut here and whole in the file. */
const valueText = (value: string | undefined): Part =>
  value === undefined || value === '' ? html`<i>nothing</i>` : html`<span>${cut(value)}</span>`;

const shown = 6;

export const changeList = (changes: readonly Change[]): Html =>
  html`<ul class="changes">${changes
    .slice(0, shown)
    .map(
      ({ key, before, after }) =>
        html`<li><b>${key}</b> ${before !== undefined && html`${valueText(before)} ${icon('next')}<span class="unseen">became</span> `}${valueText(after)}</li>`,
    )}${changes.length > shown && html`<li class="softer">and ${changes.length - shown} more, in the file</li>`}</ul>`;
