import { isKind, type Kind, unknownConfigKeys } from '../../../../../shared/api/config-keys.ts';
import type { listWouldBeTold } from '../../../../../shared/api/inner/inner-alerts.ts';
import type { getMonitorChoices } from '../../../../../shared/api/inner/inner-monitors.ts';
import type { getMonitor } from '../../../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { isContinent } from '../../../../../shared/base/continents.ts';
import { toldInWords } from '../../parts/part-who-is-told.ts';
import { checkField, enterSaves, type FormState, formSummary, hiddenField, selectField, textArea, textField } from '../../web-forms.ts';
import { type Html, html, type Part, query, safeUrl } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { chips, heading, linkButton, notice } from '../../web-layout.ts';
import { countSet, otherName } from './page-monitor-form-config.ts';
import { type Places, settingField } from './page-monitor-form-fields.ts';
import { intervalField } from './page-monitor-form-interval.ts';
import { firstSettings, type Setting, type SettingGroup, settingGroups, toldTitle } from './page-monitor-form-settings.ts';

export type Choices = OutputOf<typeof getMonitorChoices>;
export type Monitor = OutputOf<typeof getMonitor>;
export type Told = OutputOf<typeof listWouldBeTold>['items'];

/** What the form is about. `monitor`: the one that it changes; without it a new one is made. */
export type Subject = {
  readonly kind: Kind;
  readonly choices: Choices;
  readonly monitor: Monitor | undefined;
  /** Who would be told of it, in the group that the form says. */
  readonly told: Told;
};

/** Where it can be checked from: the public probes, and what this monitor was once told. */
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

/** Where it is about places, those are what the fold holds. */
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

/** Keys that do nothing are kept as they are, and can be put right. */
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

/** What the channels chose for themselves: here is nothing to choose. */
const toldPart = ({ told }: Subject): Html =>
  html`<div class="card would-be-told">${icon('alerts')}<div><h2>Who is told</h2><p id="would-be-told" data-refreshed>${toldInWords(told)}</p></div><a href="/alerts">Channels</a></div>`;

/** Where a test leads to: the buttons and what comes below them, or what kept it from being made. */
const testId = 'try';

const actions = ({ kind, monitor }: Subject, { faults, objections }: FormState): Html =>
  html`<div class="actions"${faults.size + objections.length === 0 && html` id="${testId}"`}>${
    kind !== 'heartbeat' &&
    html`<button class="button" name="act" value="try" data-stays>${icon('globe')}Test from every continent</button>`
  }<button class="button button-main" name="act" value="save">${monitor === undefined ? 'Save and begin' : 'Save'}</button>${linkButton(
    monitor === undefined ? '/' : `/monitors/${monitor.id}`,
    'Leave it',
  )}</div>`;

/** The whole of a form page, but for what a trial shows below it. */
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
