import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import {
  type Choices,
  chosenFields,
  heading,
  linkButton,
  notice,
  zoneChoices,
} from '../../web/elements.ts';
import {
  boxId,
  choiceField,
  enterSaves,
  type FormState,
  fieldGroup,
  formSummary,
  hiddenField,
  selectField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { deviceZoneFrom, type MembersRequest, type PageAnswer, show } from '../../web/page.ts';
import type { tryChannel } from '../contract.ts';
import { maxSpans, spanName, spansIn } from './input.ts';
import {
  answerText,
  type Channel,
  channelStateOf,
  delayText,
  failureNotice,
  type Kind,
  kindSymbol,
  mayManage,
} from './parts.ts';
import { mailMissingNotice } from './recipients.ts';

export type TestResult = OutputOf<typeof tryChannel>;

/** `channel`: the one to change; without it, the form creates one. */
export type EditedChannel = {
  readonly kind: Kind;
  readonly choices: Choices;
  readonly mail: boolean;
  readonly channel: Channel | undefined;
};

const delays = [0, 60, 300, 600, 900, 1_800, 3_600];
const reminders = [0, 900, 1_800, 3_600, 14_400, 86_400];

/** The result of a test, beside the form that it was made from. */
export function triedNotice({ verdict, status, class: kind, words, took_ms }: TestResult): Html {
  // Where no server answered, the words below say why.
  const answer = `(${status === null && words !== null ? '' : `${answerText({ status, class: kind })}, `}${durationText(took_ms)})`;
  if (verdict === 'delivered') return notice('up', `Test sent ${answer}. Check that it arrived.`);
  return notice(
    verdict === 'refused' ? 'down' : 'verifying',
    `${verdict === 'refused' ? 'Test failed permanently' : 'Test not delivered'} ${answer}`,
    words === null ? undefined : `${capital(words)}.`,
  );
}

export function formPage(
  request: MembersRequest,
  subject: EditedChannel,
  state: FormState,
  tried?: TestResult,
): PageAnswer {
  const { kind, channel } = subject;
  const zone = request.caller.organisation.time_zone;
  const action = channel === undefined ? '/alerts/new' : `/alerts/${channel.id}/edit`;
  const isStored = channel !== undefined && state.form.value('act') === undefined;
  return show({
    title: channel === undefined ? `New channel: ${kind.name}` : `Edit ${channel.name}`,
    place: 'alerts',
    status: state.status,
    // Typed values may be secret.
    headers: { 'cache-control': 'no-store' },
    main: html`
        ${headOf(subject)}
        ${formSummary(state, 'try')}
        ${kind.id === 'email' && !subject.mail && mailMissingNotice}
        ${channel && channelStateOf(channel, true).state === 'down' && failureNotice(channel)}
        <form class="form channel-form" method="post" action="${safeUrl(`${action}#try`)}">
          ${enterSaves}
          ${hiddenField('kind', kind.id)}
          <div class="card stack">
            <h2>Destination</h2>
            ${fieldsOf(subject, state)}
            ${
              kind.fields.some(({ input }) => input === 'generated') &&
              channel === undefined &&
              html`
                <p class="soft">
                  Every message is signed. The secret is created when you save, and shown once.
                </p>
              `
            }
            ${textField({
              name: 'name',
              label: 'Name',
              state,
              autocomplete: 'off',
              required: false,
              placeholder: kind.id === 'email' ? 'Defaults to the address' : kind.name,
            })}
            ${whoseField(request, subject, state)}
            ${
              channel !== undefined &&
              selectField({
                name: 'enabled',
                label: 'State',
                state,
                choices: [
                  { value: 'true', label: 'On' },
                  { value: 'false', label: 'Off' },
                ],
              })
            }
          </div>
          ${coverFields(subject, state)}
          <div class="card stack">
            <h2>Timing</h2>
            ${secondsField(
              'delay_s',
              'Notify',
              delays,
              (each) => capital(delayText(each)),
              state,
              'After a delay only if the outage is still open and not acknowledged.',
            )}
            ${secondsField(
              'reminder_s',
              'Repeat',
              reminders,
              (each) => (each === 0 ? 'Never' : `After ${durationText(each * 1_000)}`),
              state,
              'Intervals double, up to once a day, until acknowledged.',
            )}
            ${hoursFields(state, zone, request.cookies)}
            ${
              (channel !== undefined || state.form.value('warnings') !== undefined) &&
              selectField({
                name: 'warnings',
                label: 'Warnings',
                state,
                help: 'Slow responses and certificates that expire soon. A warning is no outage.',
                choices: [
                  { value: 'true', label: 'Send' },
                  { value: 'false', label: 'Do not send' },
                ],
              })
            }
          </div>
          <div
            class="actions form-foot"${state.faults.size + state.objections.length === 0 && html` id="try"`}
          >
            <button class="button" name="act" value="try" data-stays>
              ${icon('send')}Send a test
            </button>
            <button
              class="button button-main"
              name="act"
              value="save"${isStored && html` data-awaits-change`}
            >
              ${channel === undefined ? 'Create channel' : 'Save'}
            </button>
            ${linkButton(channel === undefined ? '/alerts' : `/alerts/${channel.id}`, 'Cancel')}
            ${trial(tried)}
          </div>
        </form>
    `,
  });
}

function headOf({ kind, channel }: EditedChannel): Html {
  return channel === undefined
    ? heading({
        sentence: `New ${kind.name} channel`,
        below: kind.about,
        trail: [
          { href: '/alerts', name: 'Alerts' },
          { href: '/alerts/new', name: 'New channel' },
        ],
      })
    : heading({
        sentence: html`Edit ${channel.name}`,
        below: kind.about,
        trail: [
          { href: '/alerts', name: 'Alerts' },
          { href: `/alerts/${channel.id}`, name: channel.name },
        ],
      });
}

/** The browser's script adds its own values there, and they stay. */
function fieldsOf(subject: EditedChannel, state: FormState): Part {
  return isFillable(subject.kind)
    ? subject.kind.fields.map((field) => kindField(field, state))
    : html`
      ${subject.kind.fields.map((field) => kindField(field, state))}
      <p class="soft">Sends to the browser in which you added it.</p>
    `;
}

type KindField = Kind['fields'][number];

function kindField(field: KindField, state: FormState): Html | null {
  const { label, hint, secret, optional, input, choices } = field;
  const name = `config.${field.name}`;
  const isStored = state.form.value(name)?.includes('***') === true;
  const help: Part = [
    hint,
    isStored ? ' The stored value is never shown. Keep *** to keep it.' : '',
  ];
  const common = { name, label, state, help: hint === null && !isStored ? null : help };
  if (input === 'generated') return null;
  if (input === 'subscription') return hiddenField(name, state.form.value(name) ?? '');
  if (input === 'choice')
    return selectField({ ...common, choices: choices.map((value) => ({ value, label: value })) });
  const isHidden = secret && input !== 'url';
  return textField({
    ...common,
    type: isHidden
      ? 'password'
      : input === 'email' || input === 'url' || input === 'tel'
        ? input
        : 'text',
    comesBack: true,
    autocomplete: isHidden ? 'new-password' : 'off',
    required: !optional,
    ...(isStored || input === 'email' ? {} : { pattern: patternOf(field), title: hint ?? label }),
  });
}

/** Matches the whole value; surrounding white space is trimmed before it is read. */
function patternOf({ pattern }: KindField): string {
  return `\\s*${pattern.replace(/^\^/, '').replace(/\$$/, '')}\\s*`;
}

function whoseField(
  request: MembersRequest,
  { channel }: EditedChannel,
  state: FormState,
): Html | null {
  if (channel !== undefined) return null;
  if (!mayManage(request))
    return html`
      ${hiddenField('personal', 'true')}
      <p class="soft">This channel is yours. Owners and admins create team channels.</p>
    `;
  return choiceField({
    name: 'personal',
    label: 'Owner',
    state,
    choices: [
      {
        value: 'false',
        label: 'Team',
        help: 'Owners and admins manage it. It stays when you leave.',
      },
      { value: 'true', label: 'Only me', help: 'You manage it. It is deleted when you leave.' },
    ],
  });
}

function coverFields(subject: EditedChannel, state: FormState): Html {
  return html`
    <div class="card stack">
      <h2>Monitors</h2>
      ${choiceField({
        name: 'covers',
        label: 'Alerts for',
        state,
        choices: [
          { value: 'all', label: 'All monitors, also those added later' },
          { value: 'chosen', label: 'Selected groups and monitors' },
        ],
      })}
      ${chosenFields(subject.choices, state, [
        ...(subject.channel?.monitors ?? []),
        ...(subject.channel?.groups ?? []),
      ])}
    </div>
  `;
}

/** Shows the default, and the present value. */
function secondsField(
  name: string,
  label: string,
  usual: readonly number[],
  words: (seconds: number) => string,
  state: FormState,
  help: Part,
): Html {
  const now = Number(state.form.value(name) ?? 0);
  const all = [...new Set([...usual, ...(Number.isInteger(now) ? [now] : [])])].toSorted(
    (a, b) => a - b,
  );
  return selectField({
    name,
    label,
    state,
    help,
    choices: all.map((each) => ({ value: String(each), label: words(each) })),
  });
}

function hoursFields(state: FormState, zone: string, cookies: string | undefined): Html {
  const filled = spansIn(state.form).length;
  const rows = Math.min(maxSpans, filled + 1);
  return html`
    ${fieldGroup({
      name: 'hours',
      label: 'Active hours',
      state,
      help: 'Leave empty to always send. Outside these hours alerts wait. 22:00–06:00 ends the next day.',
      inside: html`
        <div class="stack">${Array.from({ length: rows }, (_, at) => spanRow(state, at))}</div>
        ${
          rows < maxSpans &&
          filled > 0 &&
          html`
            <button class="button" name="act" value="more" data-stays>Add hours</button>
          `
        }
      `,
    })}
    ${selectField({
      name: 'hours.zone',
      label: 'Time zone',
      state,
      choices: [
        { value: '', label: `Of the organisation (${zone})` },
        ...zoneChoices(deviceZoneFrom(cookies), state.form.value('hours.zone') || undefined),
      ],
    })}
  `;
}

const dayChoices = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

function spanRow({ form }: FormState, at: number): Html {
  const chosen = form.values(spanName(at, 'days[]'));
  return html`
    <div class="row">
      <div class="row span-days" role="group" aria-label="Days, range ${at + 1}">
        ${dayChoices.map(
          (day, index) =>
            html`
              <label class="row">
                <input
                  type="checkbox"
                  id="${boxId(spanName(at, 'days[]'), String(index + 1))}"
                  name="${spanName(at, 'days[]')}"
                  value="${index + 1}"${chosen.includes(String(index + 1)) && html` checked`}
                >
                <span>${day}</span>
              </label>
            `,
        )}
      </div>
      <div class="row">
        <label class="row span-time">
          <span>from</span>
          <input
            type="time"
            name="${spanName(at, 'from')}"
            value="${form.value(spanName(at, 'from')) ?? ''}"
            aria-label="From, range ${at + 1}"
          >
        </label>
        <label class="row span-time">
          <span>to</span>
          <input
            type="time"
            name="${spanName(at, 'to')}"
            value="${form.value(spanName(at, 'to')) ?? ''}"
            aria-label="To, range ${at + 1}"
          >
        </label>
      </div>
    </div>
  `;
}

function trial(tried: TestResult | undefined): Html | null {
  return tried === undefined
    ? null
    : html`<div data-trial id="trial" role="status">${triedNotice(tried)}</div>`;
}

/**
 * The kind comes first, because the fields follow from it. A kind that needs the browser's own
 * values has a page of its own.
 */
export function isFillable({ fields }: Kind): boolean {
  return !fields.some(({ input }) => input === 'subscription');
}

/** How many kinds, from the first, most people use. */
const popular = 6;

export function kindPage(kinds: readonly Kind[]): PageAnswer {
  return show({
    title: 'New channel',
    place: 'alerts',
    main: html`
      ${heading({
        sentence: 'New channel',
        below: 'Choose how alerts reach you. You can send a test before you save.',
        trail: [{ href: '/alerts', name: 'Alerts' }],
      })}
      <section><h2>Popular</h2>${kindList(kinds.slice(0, popular))}</section>
      <section><h2>More</h2>${kindList(kinds.slice(popular))}</section>
    `,
  });
}

function kindList(kinds: readonly Kind[]): Html {
  return html`
  <ul class="columns kinds">
    ${kinds.map(
      (kind) =>
        html`
          <li>
            <a
              class="card"
              href="${safeUrl(
                isFillable(kind)
                  ? `/alerts/new?kind=${encodeURIComponent(kind.id)}`
                  : '/alerts/this-browser',
              )}"
            >
              <b><span class="tile">${kindSymbol(kind.id)}</span> ${kind.name}</b>
              <span class="soft">${kind.about}</span>
            </a>
          </li>
        `,
    )}
  </ul>
`;
}
