import {
  configKeys,
  isKind,
  type Kind,
  unknownConfigKeys,
} from '../../../shared/api/config-keys.ts';
import type { getMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital } from '../../../shared/base/text.ts';
import type { listMonitorChannels, listRecipients } from '../../notifications/contract.ts';
import { delayText } from '../../notifications/pages/parts.ts';
import { notificationInWords } from '../../notifications/pages/recipients.ts';
import { chips, countText, fold, heading, linkButton, notice } from '../../web/elements.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import {
  checkField,
  choiceField,
  enterButton,
  type FormState,
  formSummary,
  hiddenField,
  selectField,
  textArea,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, query, safeUrl } from '../../web/html.ts';
import type { findSameTarget, getMonitorChoices } from '../contract.ts';
import { usualIntervals } from '../model.ts';
import {
  alertingTitle,
  allOf,
  firstSettings,
  nameOf,
  otherName,
  type Setting,
  type SettingGroup,
  setLabels,
  settingGroups,
} from './form-config.ts';
import { locationLabel, locationsFor } from './form-locations.ts';
import { parentsFold } from './form-parents.ts';
import type { Locations } from './form-values.ts';

/** Any number of seconds, where none of the usual choices fits. */
const otherChoice = 'other';
const otherField = 'interval_other_s';

const often = [10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 21_600, 43_200, 86_400];

const formIntervalUsual: Readonly<Record<Kind, readonly number[]>> = {
  https: often,
  dns: often,
  tcp: often,
  grpc: often,
  tls: often,
  websocket: often,
  heartbeat: [
    60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
    1_209_600, 2_592_000,
  ],
  icmp: often,
  domain: [3_600, 21_600, 43_200, 86_400, 172_800, 604_800],
};

/** The default before anyone chose. */
export function firstInterval(kind: Kind, least: number): number {
  return kind === 'heartbeat' ? 86_400 : Math.max(usualIntervals[kind], least);
}

/** The interval that a form asks for, as it was typed. */
export function intervalFrom(form: Form): string | undefined {
  const chosen = form.value('interval_s');
  return (chosen === otherChoice ? form.value(otherField) : chosen)?.trim();
}

/** Checks per day, if the interval is a number. */
export function checksPerDay(kind: Kind, form: Form): Html {
  const seconds = Number(intervalFrom(form) ?? '');
  const count = seconds > 0 ? 86_400 / seconds : 0;
  const noun = kind === 'heartbeat' ? 'ping' : 'check';
  const often =
    count >= 1
      ? `${countText(Math.floor(count))} ${noun}${Math.floor(count) === 1 ? '' : 's'} a day`
      : `a ${noun} every ${intervalWords(seconds)}`;
  return html`<p class="a-day" id="a-day" data-refreshed>${count > 0 && often}</p>`;
}

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** In the largest unit that expresses it exactly: `90 seconds`, `7 days`. */
export function intervalWords(seconds: number): string {
  const [size, name] = units.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  return `${countText(seconds / size)} ${name}${seconds === size ? '' : 's'}`;
}

export function intervalField(kind: Kind, state: FormState, least: number): Html {
  const { form } = state;
  const chosen = Number(form.value('interval_s'));
  const offered = formIntervalUsual[kind].filter((each) => each >= least);
  const all =
    chosen > 0 && !offered.includes(chosen)
      ? [...offered, chosen].toSorted((a, b) => a - b)
      : offered;
  return html`
    <div class="fields interval" data-refreshes>
      ${selectField({
        name: 'interval_s',
        label: kind === 'heartbeat' ? 'Ping expected every' : 'Check every',
        state,
        choices: [
          ...all.map((each) => ({ value: String(each), label: intervalWords(each) })),
          { value: otherChoice, label: 'custom …' },
        ],
      })}
      <div class="interval-other">
        ${textField({
          name: otherField,
          label: 'Seconds',
          state,
          unit: 's',
          inputmode: 'numeric',
          autocomplete: 'off',
        })}
      </div>
      ${checksPerDay(kind, form)}
    </div>
  `;
}

export type Choices = OutputOf<typeof getMonitorChoices>;
export type Monitor = OutputOf<typeof getMonitor>;
export type Recipients = OutputOf<typeof listRecipients>['items'];
export type Channels = OutputOf<typeof listMonitorChannels>['items'];

/** `monitor`: the one to change; without it, the form creates one. */
export type EditedMonitor = {
  readonly kind: Kind;
  readonly choices: Choices;
  readonly monitor: Monitor | undefined;
  /** Monitors of the same type that check the same address already. */
  readonly same: OutputOf<typeof findSameTarget>['items'];
  /** A copy, of a monitor whose secrets were left out. */
  readonly lacksSecrets?: boolean;
  /** The recipients, given the group in the form. */
  readonly told: Recipients;
  readonly channels: Channels;
};

export function locationsOf({
  choices,
  monitor,
}: Pick<EditedMonitor, 'choices' | 'monitor'>): Locations {
  return locationsFor(choices, monitor?.config);
}

export function sameWords(same: EditedMonitor['same']): string {
  const [first, ...rest] = same.map(({ name }) => name);
  return rest.length === 0
    ? `${first} has the same address.`
    : `${first} and ${rest.length} more have the same address.`;
}

/** The name of the boxes of channels. */
export const channelsName = 'channels[]';

/** The anchor of a test: its buttons and its result, or the reason why it was not made. */
const testId = 'try';

/** The whole form page, with what a test shows beside it: by itself, where it follows in pieces. */
export function monitorForm(subject: EditedMonitor, state: FormState, isTested: boolean): Html {
  const { kind, monitor, choices } = subject;
  const address = monitor === undefined ? '/monitors/new' : `/monitors/${monitor.id}/edit`;
  const locations = locationsOf(subject);
  return html`
    ${heading({
      sentence: monitor === undefined ? shownKind(kind).sentence : html`Edit ${monitor.name}`,
      below:
        kind === 'heartbeat'
          ? 'Your job pings an address each time it runs. You are alerted when the ping does not come.'
          : 'Test from every continent before you save.',
      trail: [
        { href: '/', name: 'Monitors' },
        ...(monitor === undefined ? [] : [{ href: `/monitors/${monitor.id}`, name: monitor.name }]),
      ],
    })}
    ${monitor === undefined && kindChips(subject, state)}
    <div class="stack">
    ${planWords(subject)}
    ${
      subject.lacksSecrets === true &&
      notice('information', 'Secrets were not copied', 'Enter passwords and tokens again.')
    }
    ${
      subject.same.length > 0 &&
      notice('information', sameWords(subject.same), 'You can create another monitor for it.')
    }
    ${formSummary(state, testId)}
    <form
      class="form monitor-form"
      method="post"
      action="${safeUrl(`${address}#${testId}`)}"
      id="monitor-form"
    >
      ${enterButton({ name: 'act', value: 'enter' })}
      ${hiddenField('type', kind)}
      <div class="card stack">
        ${kind === 'heartbeat' ? nameField(subject, state) : targetField(subject, state)}
        ${kind === 'heartbeat' ? targetField(subject, state) : nameField(subject, state)}
        ${intervalField(kind, state, choices.min_interval_s)}
        ${firstSettings[kind].map((setting) => settingField(kind, setting, state, locations))}
      </div>
      <div class="folds lines">
        ${settingGroups[kind].map((group) => settingsFold(subject, group, state))}
        ${parentsFold(choices, state, monitor)}
        ${others(subject, state)}
        ${channelsFold(subject, state)}
      </div>
      ${actions(subject, state)}
    </form>
    ${
      monitor === undefined &&
      html`<p class="soft">Moving from another service? <a href="/import">Import monitors</a></p>`
    }
    </div>
    ${
      kind !== 'heartbeat' &&
      !isTested &&
      html`
        <div class="trial trial-none nothing">
          ${icon('globe')}
          <p>A test from every continent shows its results here. Nothing is saved by it.</p>
        </div>
      `
    }
  `;
}

const kindsShown = [
  {
    kind: 'https',
    label: 'Website or API',
    symbol: 'globe',
    sentence: 'New monitor',
    target: 'Address',
    example: 'https://shop.example/checkout',
  },
  {
    kind: 'dns',
    label: 'DNS',
    symbol: 'search',
    sentence: 'New DNS monitor',
    target: 'DNS name',
    example: 'shop.example',
  },
  {
    kind: 'tcp',
    label: 'TCP port',
    symbol: 'port',
    sentence: 'New TCP monitor',
    target: 'Host and port',
    example: 'db.shop.example:5432',
  },
  {
    kind: 'tls',
    label: 'TLS certificate',
    symbol: 'lock',
    sentence: 'New TLS monitor',
    target: 'Host and port',
    example: 'mail.shop.example:993',
  },
  {
    kind: 'websocket',
    label: 'WebSocket',
    symbol: 'exchange',
    sentence: 'New WebSocket monitor',
    target: 'Address',
    example: 'wss://shop.example/live',
  },
  {
    kind: 'grpc',
    label: 'gRPC',
    symbol: 'call',
    sentence: 'New gRPC monitor',
    target: 'Address',
    example: 'grpcs://api.shop.example:443',
  },
  {
    kind: 'icmp',
    label: 'Ping',
    symbol: 'send',
    sentence: 'New ping monitor',
    target: 'Host',
    example: 'router.shop.example',
  },
  {
    kind: 'heartbeat',
    label: 'Heartbeat',
    symbol: 'clock',
    sentence: 'New heartbeat monitor',
    target: 'Note',
    example: 'db1, /etc/cron.d/backup',
  },
  {
    kind: 'domain',
    label: 'Domain',
    symbol: 'calendar',
    sentence: 'New domain monitor',
    target: 'Domain',
    example: 'shop.example',
  },
] as const satisfies readonly { kind: Kind; [name: string]: string }[];

function shownKind(kind: Kind) {
  return kindsShown.find((each) => each.kind === kind) ?? kindsShown[0];
}

function kindChips({ kind }: EditedMonitor, { form }: FormState): Html {
  return chips(
    'Monitor type',
    kindsShown.map((each) => ({
      href: `/monitors/new${query({ type: each.kind, target: form.value('target'), name: form.value('name') })}`,
      label: each.label,
      symbol: each.symbol,
      current: each.kind === kind,
    })),
  );
}

function planWords({
  choices: { plan, most_monitors: most, monitors, min_interval_s },
  monitor,
}: EditedMonitor): Part {
  if (most === null || monitor !== undefined) return null;
  const words = `The plan ${plan} allows ${most} monitors, at most one check every ${intervalWords(min_interval_s)} each.`;
  return monitors >= most
    ? notice(
        'verifying',
        `You have ${monitors} monitors, the most that the plan ${plan} allows`,
        'Delete one or choose a larger plan. You can still test an address here.',
      )
    : html`<p class="soft">${words} You have ${monitors}.</p>`;
}

const namePlaceholders: Readonly<Record<Exclude<Kind, 'heartbeat'>, string>> = {
  https: 'Defaults to the host name',
  dns: 'Defaults to the DNS name',
  tcp: 'Defaults to the host and port',
  tls: 'Defaults to the host and port',
  websocket: 'Defaults to the host name',
  grpc: 'Defaults to the host and port',
  domain: 'Defaults to the domain',
  icmp: 'Defaults to the host',
};

function nameField({ kind }: EditedMonitor, state: FormState): Html {
  return kind === 'heartbeat'
    ? textField({
        name: 'name',
        label: 'Name',
        state,
        placeholder: 'Nightly backup',
        autocomplete: 'off',
        required: true,
        autofocus: true,
      })
    : textField({
        name: 'name',
        label: 'Name',
        state,
        autocomplete: 'off',
        required: false,
        placeholder: namePlaceholders[kind],
      });
}

function targetField({ kind, monitor }: EditedMonitor, state: FormState): Html {
  const { target: label, example: placeholder } = shownKind(kind);
  const common = { name: 'target', label, placeholder, state, autocomplete: 'off' };
  if (kind === 'heartbeat')
    return textField({
      ...common,
      required: false,
      help: 'For example the machine and the job.',
    });
  const help =
    kind === 'domain'
      ? 'Checks expiry and holds with the registry once a day.'
      : kind === 'grpc'
        ? 'grpcs:// uses TLS, grpc:// does not. Its health service (grpc.health.v1) is asked.'
        : undefined;
  return textField({
    ...common,
    required: true,
    inputmode: 'url',
    autofocus: monitor === undefined,
    ...(help === undefined ? {} : { help }),
  });
}

/** One setting of the config as a field, with its words from the table of keys. */
function settingField(
  kind: Kind,
  setting: Setting,
  state: FormState,
  locations: Locations,
): Html | null {
  const { key, label, widget, hint } = setting;
  const { initial, example, choices = [] } = configKeys[kind][key] ?? {};
  const help = [widget.how ?? '', hint, usual(kind, setting)].filter(Boolean).join(' ');
  // The default, where there is a value; otherwise an example, unless a number would pass for one.
  const [placeholder = ''] =
    widget.write(initial ?? (typeof example === 'number' ? undefined : example))[''] ?? [];
  const field = widget.draw({
    name: nameOf(setting),
    label,
    state,
    help: help === '' ? null : help,
    placeholder,
    choices,
    locations,
  });
  return field && widget.isShort ? html`<div class="short">${field}</div>` : field;
}

function usual(kind: Kind, { key, widget }: Setting): string {
  const initial = widget.unset === undefined ? configKeys[kind][key]?.initial : undefined;
  const shown = [initial ?? []].flat().filter((each) => typeof each !== 'boolean');
  return shown.length === 0 ? '' : `Default: ${shown.map(String).join(', ')}.`;
}

function settingsFold(subject: EditedMonitor, group: SettingGroup, state: FormState): Html {
  const { title, holds, settings, more = [] } = group;
  const { kind } = subject;
  const locations = locationsOf(subject);
  const withGroup = title === alertingTitle;
  const set = [
    ...setLabels(allOf(group), kind, state.form, locations),
    ...(withGroup ? groupLabels(state.form) : []),
  ];
  const ofGroup =
    withGroup && subject.choices.groups.find(({ id }) => id === state.form.value('group'))?.name;
  const says = [ofGroup || [], set.length > 0 ? capital(set.join(', ')) : []].flat();
  const isWrong =
    isAtFault(allOf(group), state) ||
    (withGroup && Object.keys(groupFieldLabels).some((name) => state.faults.has(name)));
  const isShown = (setting: Setting): boolean =>
    isAtFault([setting], state) || setLabels([setting], kind, state.form, locations).length > 0;
  const unused = more.filter((setting) => !isShown(setting));
  const fieldsFor = (some: readonly Setting[]) =>
    some.map((setting) => settingField(kind, setting, state, locations));
  return fold({
    title,
    says: says.length > 0 ? says.join(' · ') : (heldBy(settings, state) ?? holds),
    isSet: says.length > 0,
    isOpen: (isWrong || state.form.value('act') === 'more') && says.length > 0,
    body: html`
      ${fieldsFor([...settings, ...more.filter(isShown)])}
      ${
        unused.length > 0 &&
        html`
          <details class="fold-more">
            <summary>More ${title === 'Assertions' ? 'assertions' : 'settings'}</summary>
            <div class="fold-fields">${fieldsFor(unused)}</div>
          </details>
        `
      }
      ${withGroup && groupFields(subject, state)}
    `,
  });
}

function isAtFault(settings: readonly Setting[], { faults }: FormState): boolean {
  return [...faults.keys()].some((name) =>
    settings.some(({ key }) => name === `config.${key}` || name.startsWith(`config.${key}.`)),
  );
}

/** For settings about locations, the fold names the locations. */
function heldBy(settings: readonly Setting[], { form }: FormState): string | undefined {
  return settings.some(({ widget }) => widget.unset === 'locations')
    ? form
        .values('config.places[]')
        .filter((each) => each !== '')
        .map(locationLabel)
        .join(', ')
    : undefined;
}

/** Of those that are empty unless someone fills them; a group says its name. */
const groupFieldLabels = { group: 'Group', tags: 'Tags', runbook: 'Runbook' };

function groupLabels(form: Form): readonly string[] {
  return Object.entries(groupFieldLabels).flatMap(([name, label]) =>
    name === 'group' || (form.value(name) ?? '').trim() === '' ? [] : [label.toLowerCase()],
  );
}

function groupFields({ choices }: EditedMonitor, state: FormState): Html {
  return html`
    <div class="short" data-refreshes>
      ${selectField({
        name: 'group',
        label: groupFieldLabels.group,
        state,
        choices: [
          { value: '', label: 'No group' },
          ...choices.groups.map(({ id, name }) => ({ value: id, label: name })),
        ],
      })}
    </div>
    <div class="short">
      ${hiddenField('affects_group_status', 'false')}
      ${checkField({
        name: 'affects_group_status',
        label: 'Include in group status',
        state,
      })}
    </div>
    ${textField({
      name: 'tags',
      label: groupFieldLabels.tags,
      state,
      autocomplete: 'off',
      placeholder: 'shop, eu',
      help: 'Separated by commas. You can filter by them.',
    })}
    ${textArea({
      name: 'runbook',
      label: groupFieldLabels.runbook,
      state,
      rows: 4,
      help: 'What to do when it is down. Shown first on its incidents. Markdown works.',
    })}
  `;
}

/** Keys without effect are kept as they are, and can be corrected. */
function others({ kind, monitor }: EditedMonitor, state: FormState): Part {
  const unknown = monitor === undefined ? [] : unknownConfigKeys(kind, monitor.config);
  if (unknown.length === 0 && state.form.value(otherName) === undefined) return null;
  return fold({
    title: 'Settings without effect',
    isOpen: true,
    body: textArea({
      name: otherName,
      label: 'As JSON',
      state,
      code: true,
      rows: 3,
      help: html`
        Kept as they are. ${unknown.map(({ sentence }) => `${sentence.replaceAll('`', '')}. `)}
      `,
    }),
  });
}

/** Its line says who is notified. */
function channelsFold({ told, channels }: EditedMonitor, state: FormState): Html {
  // A channel for all monitors is ticked whatever was sent: a disabled box sends nothing.
  const fixed = channels.filter((each) => each.chosen && !each.may_change).map(({ id }) => id);
  const form = formOf({ [channelsName]: [...state.form.values(channelsName), ...fixed] });
  return fold({
    title: 'Notifications',
    says: notificationInWords(told),
    isSet: true,
    saysId: 'would-be-told',
    body: html`
        ${
          channels.length > 0 &&
          choiceField({
            name: channelsName,
            label: 'Channels',
            state: { ...state, form },
            several: true,
            choices: channels.map(({ id, name, owner, delay_s, has_all, may_change }) => ({
              value: id,
              label: name,
              help: [
                capital(delayText(delay_s)),
                ...(owner === null ? [] : [owner]),
                ...(has_all ? ['all monitors'] : []),
              ].join(', '),
              disabled: !may_change,
            })),
          })
        }
        ${hiddenField(channelsName, '')}
        <p class="links"><a href="/alerts">All channels</a></p>
    `,
  });
}

function actions({ kind, monitor }: EditedMonitor, { form, faults, objections }: FormState): Html {
  const isStored = monitor !== undefined && form.value('act') === undefined;
  return html`
    <div class="actions form-foot"${faults.size + objections.length === 0 && html` id="${testId}"`}>
      ${
        kind !== 'heartbeat' &&
        html`
          <button class="button" name="act" value="try" data-stays>
            ${icon('globe')}<span>Test <span>from every continent</span></span>
          </button>
        `
      }
      <button
        class="button button-main"
        name="act"
        value="save"${isStored && html` data-awaits-change`}
      >
        ${monitor === undefined ? 'Create monitor' : 'Save'}
      </button>
      ${linkButton(monitor === undefined ? '/' : `/monitors/${monitor.id}`, 'Cancel')}
    </div>
  `;
}

export function kindFrom(text: string | undefined): Kind {
  return isKind(text) ? text : 'https';
}
