import { configKeys, defaultWords, isKind, type Kind, unknownConfigKeys } from '../../../shared/api/config-keys.ts';
import type { getMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { isContinent } from '../../../shared/base/continents.ts';
import { notificationInWords } from '../../incidents/pages/detail.ts';
import type { listRecipients } from '../../notifications/contract.ts';
import type { Form } from '../../web/form-data.ts';
import {
  type Choice,
  checkField,
  choiceField,
  enterSaves,
  type FormState,
  fieldGroup,
  formSummary,
  hiddenField,
  selectField,
  textArea,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, query, safeUrl } from '../../web/html.ts';
import { chips, countText, heading, linkButton, notice } from '../../web/layout.ts';
import type { getMonitorChoices } from '../contract.ts';
import { countSet, firstSettings, nameOf, otherName, type Setting, type SettingGroup, settingGroups, toldTitle } from './form-config.ts';
import { assertionWords, maxAssertions, type Widget } from './form-values.ts';

/** The choices for settings. */
export type Places = {
  /** Where public probes are, and where this monitor wants one. */
  readonly continents: readonly Choice[];
  readonly probes: readonly { readonly id: string; readonly name: string; readonly continent: string }[];
};

/** Descriptions write keys and values in backticks. */
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

/** The default, where there is a value; otherwise an example. */
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
  const filled = Array.from({ length: maxAssertions }, (_, at) => at).filter(
    (at) => state.form.value(nameOf(setting, `.${at}.path`)) || state.form.value(nameOf(setting, `.${at}.value`)),
  );
  const rows = Math.min(maxAssertions, Math.max(2, (filled.at(-1) ?? -1) + 2));
  return html`<div class="assertions">${Array.from({ length: rows }, (_, at) => assertionRow(setting, state, at))}</div>${
    rows < maxAssertions && html`<button class="button" name="act" value="more" data-stays>Room for another</button>`
  }`;
};

const choicesOf = (kind: Kind, { key, widget }: Setting): readonly Choice[] =>
  (configKeys[kind][key]?.choices ?? []).map((each) => ({
    value: each,
    label: (widget.is === 'choice' ? widget.words?.[each] : undefined) ?? each,
  }));

/** Settings that need little room are shown in pairs. */
const shortWidgets: readonly Widget['is'][] = ['number', 'choice', 'text', 'statuses', 'yes-no'];

/** One setting of the config as a field, with its words from the table of keys. */
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

/** Any number of seconds, where none of the usual choices fits. */
const otherChoice = 'other';
const otherField = 'interval_other_s';

const formIntervalUsual: Readonly<Record<Kind, readonly number[]>> = {
  https: [10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 21_600, 43_200, 86_400],
  dns: [10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 21_600, 43_200, 86_400],
  heartbeat: [60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000],
};

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** In the largest unit that expresses it exactly: `90 seconds`, `7 days`. */
const words = (seconds: number): string => {
  const [size, name] = units.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  return `${countText(seconds / size)} ${name}${seconds === size ? '' : 's'}`;
};

/** The default before anyone chose. */
export const firstInterval = (kind: Kind, least: number): number => (kind === 'heartbeat' ? 86_400 : Math.max(60, least));

/** The interval that a form asks for, as it was typed. */
export const intervalFrom = (form: Form): string | undefined => {
  const chosen = form.value('interval_s');
  return (chosen === otherChoice ? form.value(otherField) : chosen)?.trim();
};

/** Checks per day, if the interval is a number. */
export const aDay = (kind: Kind, form: Form): Html => {
  const seconds = Number(intervalFrom(form) ?? '');
  const count = seconds > 0 ? 86_400 / seconds : 0;
  const noun = kind === 'heartbeat' ? 'ping' : 'check';
  const often =
    count >= 1 ? `${countText(Math.floor(count))} ${noun}${Math.floor(count) === 1 ? '' : 's'} a day` : `a ${noun} every ${words(seconds)}`;
  return html`<p class="a-day" id="a-day" data-refreshed>${count > 0 && html`= ${often}`}</p>`;
};

export const intervalField = (kind: Kind, state: FormState, least: number): Html => {
  const { form } = state;
  const chosen = Number(form.value('interval_s'));
  const offered = formIntervalUsual[kind].filter((each) => each >= least);
  const all = chosen > 0 && !offered.includes(chosen) ? [...offered, chosen].toSorted((a, b) => a - b) : offered;
  return html`<div class="interval" data-refreshes>${selectField({
    ...{ name: 'interval_s', label: kind === 'heartbeat' ? 'A ping is due every' : 'Every', state },
    choices: [...all.map((each) => ({ value: String(each), label: words(each) })), { value: otherChoice, label: 'another time …' }],
  })}<div class="interval-other">${textField({
    ...{ name: otherField, label: 'Seconds', state, unit: 's', inputmode: 'numeric', autocomplete: 'off' },
  })}</div>${aDay(kind, form)}</div>`;
};

export type Choices = OutputOf<typeof getMonitorChoices>;
export type Monitor = OutputOf<typeof getMonitor>;
export type Told = OutputOf<typeof listRecipients>['items'];

/** What the form edits. `monitor`: the one to change; without it, the form creates one. */
export type Subject = {
  readonly kind: Kind;
  readonly choices: Choices;
  readonly monitor: Monitor | undefined;
  /** The recipients, given the group in the form. */
  readonly told: Told;
};

/** The locations to check from: those of public probes, and those that this monitor once chose. */
export const continentsFor = ({ choices, monitor }: Pick<Subject, 'choices' | 'monitor'>): readonly string[] => {
  const wanted = monitor?.config.continents;
  const stored = Array.isArray(wanted) ? wanted.filter(isContinent) : [];
  return [...new Set([...choices.continents, ...stored])].toSorted();
};

const placesOf = (subject: Subject): Places => ({
  probes: subject.choices.probes,
  continents: continentsFor(subject).map((continent) => ({
    value: continent,
    label: continent,
    ...(subject.choices.continents.includes(continent) ? {} : { help: 'No probe is there now.' }),
  })),
});

const kindsShown = [
  {
    kind: 'https',
    label: 'Web address',
    symbol: 'globe',
    sentence: 'Watch a web address.',
    target: 'Address',
    example: 'https://shop.example/checkout',
  },
  { kind: 'dns', label: 'DNS name', symbol: 'search', sentence: 'Watch a DNS name.', target: 'DNS name', example: 'shop.example' },
  {
    kind: 'heartbeat',
    label: 'Heartbeat',
    symbol: 'clock',
    sentence: 'Watch a job that should run.',
    target: 'Remark',
    example: 'db1, /etc/cron.d/backup',
  },
] as const satisfies readonly { kind: Kind; [name: string]: string }[];

const shownKind = (kind: Kind) => kindsShown.find((each) => each.kind === kind) ?? kindsShown[0];

const kindChips = ({ kind }: Subject, { form }: FormState): Html =>
  chips(
    'What to watch',
    kindsShown.map((each) => ({
      href: `/monitors/new${query({ type: each.kind, target: form.value('target'), name: form.value('name') })}`,
      ...{ label: each.label, symbol: each.symbol, current: each.kind === kind },
    })),
  );

const targetField = ({ kind }: Subject, state: FormState): Html => {
  const { target: label, example: placeholder } = shownKind(kind);
  const common = { name: 'target', label, placeholder, state, autocomplete: 'off' };
  if (kind === 'heartbeat') return textField({ ...common, required: false, help: 'Which machine, which job: whatever helps to find it.' });
  const help = kind === 'https' ? 'Checks speak HTTP/1.1; a server that speaks HTTP/2 only cannot be checked yet.' : undefined;
  return textField({ ...common, required: true, inputmode: 'url', autofocus: true, ...(help === undefined ? {} : { help }) });
};

const nameField = ({ kind }: Subject, state: FormState): Html =>
  kind === 'heartbeat'
    ? textField({ name: 'name', label: 'Name', state, placeholder: 'Nightly backup', autocomplete: 'off', required: true, autofocus: true })
    : textField({
        name: 'name',
        label: 'Name',
        state,
        autocomplete: 'off',
        required: false,
        placeholder: kind === 'dns' ? 'as the name' : 'as the host',
      });

const isAtFault = (settings: readonly Setting[], { faults }: FormState): boolean =>
  [...faults.keys()].some((name) => settings.some(({ key }) => name === `config.${key}` || name.startsWith(`config.${key}.`)));

const groupFields = ({ choices, monitor }: Subject, state: FormState): Html =>
  html`<div class="short">${selectField({
    ...{ name: 'group', label: 'Group', state },
    choices: [{ value: '', label: 'No group' }, ...choices.groups.map(({ id, name }) => ({ value: id, label: name }))],
  })}</div><div class="short">${hiddenField('affects_group_status', 'false')}${checkField({
    name: 'affects_group_status',
    label: monitor === undefined ? 'It counts for the status of its group' : 'Counts for the status of its group',
    state,
  })}</div>${textField({
    ...{ name: 'tags', label: 'Tags', state, autocomplete: 'off', placeholder: 'shop, eu' },
    help: 'With commas between. The list can be narrowed to one of them.',
  })}`;

/** For settings about locations, the fold names the locations. */
const heldBy = (settings: readonly Setting[], { form }: FormState): string | undefined =>
  settings.some(({ widget }) => widget.is === 'places')
    ? form
        .values('config.continents[]')
        .filter((each) => each !== '')
        .join(', ')
    : undefined;

const fold = (subject: Subject, { title, holds, settings }: SettingGroup, state: FormState): Html => {
  const { kind } = subject;
  const withGroup = title === toldTitle;
  const count =
    countSet(settings, kind, state.form, continentsFor(subject)) +
    (withGroup ? ['group', 'tags'].filter((name) => (state.form.value(name) ?? '').trim() !== '').length : 0);
  const isWrong = isAtFault(settings, state) || (withGroup && (state.faults.has('group') || state.faults.has('tags')));
  const fields = settings.map((setting) => settingField(kind, setting, state, placesOf(subject)));
  return html`<details class="fold"${(isWrong || state.form.value('act') === 'more') && count > 0 && html` open`}><summary>${icon('next')}<span>${title}</span>${
    count > 0
      ? html`<span class="fold-count">${count === 1 ? '1 set' : `${count} set`}</span>`
      : html`<span class="fold-holds">${heldBy(settings, state) ?? holds}</span>`
  }</summary><div class="fold-fields"${withGroup && html` data-refreshes`}>${fields}${withGroup && groupFields(subject, state)}</div></details>`;
};

/** Keys without effect are kept as they are, and can be corrected. */
const others = ({ kind, monitor }: Subject, state: FormState): Part => {
  const unknown = monitor === undefined ? [] : unknownConfigKeys(kind, monitor.config);
  if (unknown.length === 0 && state.form.value(otherName) === undefined) return null;
  return html`<details class="fold" open><summary>${icon('next')}<span>Settings that do nothing</span></summary><div class="fold-fields">${textArea(
    {
      ...{ name: otherName, label: 'As JSON', state, code: true, rows: 3 },
      help: html`They are kept as they are. ${unknown.map(({ sentence }) => `${sentence.replaceAll('`', '')}. `)}`,
    },
  )}</div></details>`;
};

const planWords = ({ choices: { plan, most_monitors: most, monitors, min_interval_s }, monitor }: Subject): Part => {
  if (most === null || monitor !== undefined) return null;
  const words = `The plan ${plan} allows ${most} monitors, at most one check every ${min_interval_s} s each.`;
  return monitors >= most
    ? notice(
        'verifying',
        `There are ${monitors} monitors already, which is all that the plan ${plan} allows.`,
        'Delete one, or take a larger plan; you can try an address here all the same.',
      )
    : html`<p class="soft">${words} There are ${monitors}.</p>`;
};

/** The channels choose their monitors; there is nothing to choose here. */
const toldPart = ({ told }: Subject): Html =>
  html`<div class="card would-be-told">${icon('alerts')}<div><h2>Who is told</h2><p id="would-be-told" data-refreshed>${notificationInWords(told)}</p></div><a href="/alerts">Channels</a></div>`;

/** The anchor of a test: its buttons and its result, or the reason why it was not made. */
const testId = 'try';

const actions = ({ kind, monitor }: Subject, { faults, objections }: FormState): Html =>
  html`<div class="actions"${faults.size + objections.length === 0 && html` id="${testId}"`}>${
    kind !== 'heartbeat' &&
    html`<button class="button" name="act" value="try" data-stays>${icon('globe')}Test from every continent</button>`
  }<button class="button button-main" name="act" value="save">${monitor === undefined ? 'Save and begin' : 'Save'}</button>${linkButton(
    monitor === undefined ? '/' : `/monitors/${monitor.id}`,
    'Leave it',
  )}</div>`;

/** The whole form page, except for what a test run shows below it. */
export const monitorForm = (subject: Subject, state: FormState): Html => {
  const { kind, monitor, choices } = subject;
  const address = monitor === undefined ? '/monitors/new' : `/monitors/${monitor.id}/edit`;
  const places = placesOf(subject);
  return html`${heading({
    sentence: monitor === undefined ? shownKind(kind).sentence : html`Change ${monitor.name}`,
    below:
      kind === 'heartbeat'
        ? 'Your job pings an address when it ran; when the ping does not come, you are told.'
        : 'Try it from every continent first; nothing is saved by that.',
    trail: [{ href: '/', name: 'Monitors' }, ...(monitor === undefined ? [] : [{ href: `/monitors/${monitor.id}`, name: monitor.name }])],
  })}${monitor === undefined && kindChips(subject, state)}${planWords(subject)}${formSummary(state, testId)}
<form class="form monitor-form" method="post" action="${safeUrl(`${address}#${testId}`)}" id="monitor-form">${enterSaves}${hiddenField('type', kind)}
<div class="card monitor-first">${kind === 'heartbeat' ? nameField(subject, state) : targetField(subject, state)}${
    kind === 'heartbeat' ? targetField(subject, state) : nameField(subject, state)
  }${intervalField(kind, state, choices.min_interval_s)}${firstSettings[kind].map((setting) => settingField(kind, setting, state, places))}</div>
<div class="folds">${settingGroups[kind].map((group) => fold(subject, group, state))}${others(subject, state)}</div>
${toldPart(subject)}
${actions(subject, state)}</form>`;
};

export const kindFrom = (text: string | undefined): Kind => (isKind(text) ? text : 'https');
