import { configKeys, defaultWords, type Kind } from '../../../../../shared/api/config-keys.ts';
import {
  type Choice,
  checkField,
  choiceField,
  type FormState,
  fieldGroup,
  hiddenField,
  selectField,
  textArea,
  textField,
} from '../../web-forms.ts';
import { type Html, html, type Part } from '../../web-html.ts';
import { nameOf } from './page-monitor-form-config.ts';
import type { Setting } from './page-monitor-form-settings.ts';
import { assertionWords, mostAssertions, type Widget } from './page-monitor-form-values.ts';

/** What a setting can be chosen from. */
export type Places = {
  /** Where public probes are, and where this monitor wants one. */
  readonly continents: readonly Choice[];
  readonly probes: readonly { readonly id: string; readonly name: string; readonly continent: string }[];
};

/** Keys and values stand in backticks where they are written about. */
const written = (text: string): Part => text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));

const howWritten: Partial<Record<Widget['is'], string>> = {
  lines: 'One to a line.',
  pairs: 'One to a line, as `Name: value`.',
  statuses: 'With commas between.',
};

const usual = (kind: Kind, { key, widget }: Setting): string => {
  const words = configKeys[kind][key];
  if (!words || widget.is === 'choice' || widget.is === 'yes-no' || widget.is === 'places') return '';
  const { initial } = words;
  if (Array.isArray(initial)) return `Usual: ${initial.map((each) => `\`${String(each)}\``).join(', ')}.`;
  const otherwise = defaultWords(words);
  return ['none', 'nothing'].includes(otherwise) ? '' : initial === undefined ? `Left empty: ${otherwise}.` : `Usual: ${otherwise}.`;
};

const helpOf = (kind: Kind, setting: Setting): Part => {
  const text = [
    setting.isPlain ? '' : (configKeys[kind][setting.key]?.meaning ?? ''),
    howWritten[setting.widget.is] ?? '',
    usual(kind, setting),
  ]
    .filter(Boolean)
    .join(' ');
  return text === '' ? null : written(text);
};

/** What is usual, where that is a value; else an example. */
const placeholderOf = (kind: Kind, { key, widget }: Setting): string => {
  const words = configKeys[kind][key];
  if (widget.is === 'number') return words?.initial === undefined ? '' : String(words.initial);
  const example: unknown = words?.initial ?? words?.example;
  if (widget.is === 'pairs')
    return Object.entries(Object(example))
      .map(([name, of]) => `${name}: ${String(of)}`)
      .join('\n');
  if (Array.isArray(example)) return example.map(String).join(widget.is === 'statuses' ? ', ' : '\n');
  return String(example ?? '');
};

const assertionRow = (setting: Setting, state: FormState, at: number): Html => {
  const of = (part: string) => nameOf(setting, `.${at}.${part}`);
  const chosen = state.form.value(of('is')) ?? 'equals';
  return html`<div class="assertion"><input name="${of('path')}" value="${state.form.value(of('path')) ?? ''}" placeholder="$.status" aria-label="Path ${at + 1}" autocomplete="off" spellcheck="false">
<select name="${of('is')}" aria-label="How ${at + 1}">${Object.entries(assertionWords).map(
    ([is, words]) => html`<option value="${is}"${is === chosen && html` selected`}>${words}</option>`,
  )}</select><input name="${of('value')}" value="${state.form.value(of('value')) ?? ''}" placeholder="${at === 0 && 'ok'}" aria-label="Value ${at + 1}" autocomplete="off" spellcheck="false"></div>`;
};

const assertionRows = (setting: Setting, state: FormState): Html => {
  const filled = Array.from({ length: mostAssertions }, (_, at) => at).filter(
    (at) => state.form.value(nameOf(setting, `.${at}.path`)) || state.form.value(nameOf(setting, `.${at}.value`)),
  );
  const rows = Math.min(mostAssertions, Math.max(2, (filled.at(-1) ?? -1) + 2));
  return html`<div class="assertions">${Array.from({ length: rows }, (_, at) => assertionRow(setting, state, at))}</div>${
    rows < mostAssertions && html`<button class="button" name="act" value="more" data-stays>Room for another</button>`
  }`;
};

const choicesOf = (kind: Kind, { key, widget }: Setting): readonly Choice[] =>
  (configKeys[kind][key]?.choices ?? []).map((each) => ({
    value: each,
    label: (widget.is === 'choice' ? widget.words?.[each] : undefined) ?? each,
  }));

/** Those that need little room stand two and two. */
const shortWidgets: readonly Widget['is'][] = ['number', 'choice', 'text', 'statuses', 'yes-no'];

/** One setting of the config as a field, its words from the one table of keys. */
export const settingField = (kind: Kind, setting: Setting, state: FormState, places: Places): Html | null => {
  const field = fieldOf(kind, setting, state, places);
  return field && shortWidgets.includes(setting.widget.is) ? html`<div class="short">${field}</div>` : field;
};

const fieldOf = (kind: Kind, setting: Setting, state: FormState, places: Places): Html | null => {
  const { label, widget } = setting;
  const name = nameOf(setting);
  const common = { name, label, state, help: helpOf(kind, setting) };
  const placeholder = placeholderOf(kind, setting);
  switch (widget.is) {
    case 'number':
      return textField({ ...common, placeholder, unit: widget.unit, inputmode: 'numeric', autocomplete: 'off' });
    case 'text':
    case 'statuses':
      return textField({ ...common, placeholder, autocomplete: 'off' });
    case 'secret':
      return textField({ ...common, type: 'password', comesBack: true, autocomplete: 'new-password' });
    case 'area':
    case 'lines':
    case 'pairs':
      return textArea({ ...common, placeholder, code: true, rows: 2 });
    case 'choice':
      return selectField({ ...common, choices: choicesOf(kind, setting) });
    case 'yes-no':
      return html`${hiddenField(name, 'false')}${checkField(common)}`;
    case 'credentials':
      return html`${textField({ ...common, name: nameOf(setting, '.username'), label: 'User name', autocomplete: 'off' })}${textField({
        ...{ name: nameOf(setting, '.password'), label: 'Password', state },
        ...{ type: 'password', comesBack: true, autocomplete: 'new-password' },
      })}`;
    case 'assertions':
      return fieldGroup({
        ...common,
        help: html`${common.help} A value is a number, <code>true</code>, <code>false</code> or <code>null</code> where it reads as one, else a text; in quotes it is a text.`,
        inside: assertionRows(setting, state),
      });
    case 'places':
      return html`${hiddenField(`${name}[]`, '')}${choiceField({
        ...{ ...common, name: `${name}[]`, choices: places.continents, several: true },
        help: 'They look in turn, and confirm what one of them sees. With all ticked, those that come later look, too.',
      })}`;
    case 'probe':
      return places.probes.length === 0 && (state.form.value(name) ?? '') === ''
        ? null
        : selectField({
            ...common,
            choices: [
              { value: '', label: 'No: the public ones look' },
              ...places.probes.map(({ id, name: called, continent }) => ({ value: id, label: `${called}, ${continent}` })),
            ],
          });
  }
};
