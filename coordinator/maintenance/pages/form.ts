import {
  createMaintenanceWindow,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { InvalidInput } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { durationText } from '../../../shared/base/time.ts';
import { getChannelChoices } from '../../search/contract.ts';
import {
  type Choices,
  chosenFields,
  heading,
  linkButton,
  zoneChoices,
} from '../../web/elements.ts';
import type { Form } from '../../web/form-data.ts';
import {
  boxId,
  choiceField,
  enterSaves,
  type FormState,
  fieldGroup,
  formSummary,
  freshForm,
  refusedForm,
  refuseUnlessMay,
  selectField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import {
  deviceZoneFrom,
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { showMaintenanceWindow } from '../contract.ts';
import {
  formOfNew,
  formOfWindow,
  inputIn,
  isNow,
  preview,
  repeatOf,
  type Shown,
  timesIn,
  titleOf,
  usualLengths_s,
  type Window,
} from './parts.ts';

export type EditedWindow = {
  readonly choices: Choices;
  /** The window to change; without one, the form creates one. */
  readonly window: Window | undefined;
  readonly zone: string;
  /** Of the reader's device, where it is known: the first choice. */
  readonly deviceZone: string | undefined;
  /**
   * Where the form is posted. For a new window it keeps the query, which lists what was selected
   * when the form was opened.
   */
  readonly action: string;
  readonly tickedFirst: readonly string[];
};

const dayNames = [
  ['MO', 'Mon'],
  ['TU', 'Tue'],
  ['WE', 'Wed'],
  ['TH', 'Thu'],
  ['FR', 'Fri'],
  ['SA', 'Sat'],
  ['SU', 'Sun'],
] as const;

const trail = [{ href: '/maintenance', name: 'Maintenance' }];

export function formPage(subject: EditedWindow, state: FormState, ahead: Html): PageAnswer {
  const { window, choices, action, tickedFirst } = subject;
  const isNew = window === undefined;
  return show({
    title: isNew ? 'Schedule maintenance' : `Edit ${titleOf(window, choices)}`,
    place: 'maintenance',
    status: state.status,
    main: html`
        ${headOf(subject)}
        ${formSummary(state)}
        <form class="form window-form" method="post" action="${safeUrl(action)}">
          ${enterSaves}
          <div class="card stack" data-refreshes>
            <h2>Name and time</h2>
            ${textField({
              name: 'name',
              label: 'Name',
              state,
              autocomplete: 'off',
              required: false,
              placeholder: 'Database upgrade',
            })}
            ${whenFields(subject, state)}
          </div>
          <section class="card stack when-planned">
            <div class="section-head">
              <h2>Next occurrences</h2>
              <button class="button" name="act" value="look" data-stays>
                ${icon('again')}Refresh
              </button>
            </div>
            <div id="ahead" class="stack" data-refreshed aria-live="polite">${ahead}</div>
          </section>
          <div class="card stack">
            <h2>Affected monitors</h2>
            ${chosenFields(choices, state, tickedFirst)}
          </div>
          <div class="actions">
            <button class="button button-main" name="act" value="save">
              ${
                isNew
                  ? html`
                    <span class="when-now">Start now</span>
                    <span class="stack when-planned">Schedule</span>
                  `
                  : 'Save'
              }
            </button>
            ${linkButton(isNew ? '/maintenance' : `/maintenance/${window.id}`, 'Cancel')}
          </div>
        </form>
    `,
  });
}

function headOf({ window, choices }: EditedWindow): Html {
  if (window === undefined)
    return heading({
      sentence: 'Schedule maintenance',
      below: 'Monitors are still checked during maintenance. Alerts wait until it ends.',
      trail,
    });
  const title = titleOf(window, choices);
  return heading({
    sentence: html`Edit ${title}`,
    below: 'Changes apply from now on. Past maintenance stays as it was.',
    trail: [...trail, { href: `/maintenance/${window.id}`, name: title }],
  });
}

function whenFields({ window, zone, deviceZone }: EditedWindow, state: FormState): Html {
  return html`
    ${
      window === undefined &&
      choiceField({
        name: 'when',
        label: 'When',
        state,
        choices: [
          { value: 'now', label: 'Now' },
          { value: 'planned', label: 'Scheduled' },
        ],
      })
    }
    ${
      window === undefined &&
      html`
        <div class="when-now">
          ${selectField({
            name: 'for_s',
            label: 'Duration',
            state,
            help: 'You can end it early.',
            choices: usualLengths_s.map((each) => ({
              value: String(each),
              label: durationText(each * 1_000),
            })),
          })}
        </div>
      `
    }
    <div class="stack when-planned">
      ${textField({
        name: 'starts_at',
        label: 'Starts',
        state,
        type: 'datetime-local',
        ...(window !== undefined && { help: `In ${zone}, which this window keeps.` }),
      })}
      ${textField({ name: 'ends_at', label: 'Ends', state, type: 'datetime-local' })}
      ${
        window === undefined &&
        selectField({
          name: 'time_zone',
          label: 'Time zone',
          state,
          // Older names of a zone are not listed.
          choices: zoneChoices(deviceZone, zone),
        })
      }
      ${repeatFields(state)}
    </div>
  `;
}

function repeatFields(state: FormState): Html {
  return html`
    ${selectField({
      name: 'repeats',
      label: 'Repeats',
      state,
      choices: [
        { value: 'once', label: 'Does not repeat' },
        { value: 'daily', label: 'Every day' },
        { value: 'weekdays', label: 'Monday to Friday' },
        { value: 'weekly', label: 'Every week on …' },
        { value: 'monthly_day', label: 'Every month on this day' },
        { value: 'monthly_nth', label: 'Every month on this weekday, such as the 2nd Tuesday' },
        { value: 'monthly_last', label: 'Every month on the last such weekday' },
        { value: 'own', label: 'Custom (RRULE)' },
      ],
    })}
    <div class="repeat-days">
      ${fieldGroup({
        name: 'days[]',
        label: 'Days',
        state,
        inside: html`
          <div class="row span-days">
            ${dayNames.map(
              ([value, label]) =>
                html`
                  <label class="row">
                    <input
                      type="checkbox"
                      id="${boxId('days', value)}"
                      name="days[]"
                      value="${value}"${state.form.values('days[]').includes(value) && html` checked`}
                    >
                    <span>${label}</span>
                  </label>
                `,
            )}
          </div>
        `,
      })}
    </div>
    <div class="repeat-own">
      ${textField({
        name: 'rrule',
        label: 'Rule',
        state,
        autocomplete: 'off',
        placeholder: 'FREQ=MONTHLY;BYDAY=2TU,4TU',
        help: 'RFC 5545 recurrence rule.',
      })}
    </div>
    <div class="repeat-until">
      ${textField({
        name: 'until',
        label: 'Until',
        state,
        type: 'date',
        required: false,
      })}
    </div>
  `;
}

const notYet = 'Choose a start and an end to see the next ten occurrences.';

const fields = [
  'name',
  'starts_at',
  'ends_at',
  'repeats',
  'rrule',
  'time_zone',
  'monitors',
  'groups',
];

const newPage = forMembers.get('/maintenance/new', async (request) => {
  const subject = await newSubject(request);
  return shownWith(
    request,
    subject,
    freshForm(formOfNew(request.query, subject.zone, request.now)),
  );
});

async function newSubject(request: MembersRequest): Promise<EditedWindow> {
  refuseUnlessMay(request, createMaintenanceWindow);
  const { address, query } = request;
  const tickedFirst = [query.monitor, query.group].flatMap((ids) => ids?.split(',') ?? []);
  const choices = await request.ask(getChannelChoices);
  return {
    choices,
    window: undefined,
    zone: request.caller.organisation.time_zone,
    deviceZone: deviceZoneFrom(request.cookies),
    action: address,
    tickedFirst,
  };
}

async function shownWith(
  request: MembersRequest,
  subject: EditedWindow,
  state: FormState,
): Promise<PageAnswer> {
  return formPage(subject, state, await previewOf(request, state.form, subject));
}

/** A preview of the occurrences, or the reason why there are none yet. */
async function previewOf(
  request: MembersRequest,
  form: Form,
  { window }: EditedWindow,
): Promise<Html> {
  const { starts_at, ends_at, rrule } = timesIn(form, request.now);
  if (starts_at === '' || ends_at === '') return preview(notYet, request);
  try {
    const of = window === undefined ? zoneIn(form) : { window: window.id };
    return preview(
      await request.ask(previewMaintenanceWindow, {
        starts_at,
        ends_at,
        ...of,
        ...(rrule === '' ? {} : { rrule }),
      }),
      request,
    );
  } catch (error) {
    if (error instanceof InvalidInput) return preview(notYet, request);
    if (
      error instanceof Refusal &&
      ['window_invalid', 'rrule_invalid', 'time_zone_invalid'].includes(error.code)
    )
      return preview(
        `No occurrences: ${Object.values(error.remedies)[0] ?? error.message}`,
        request,
      );
    throw error;
  }
}

function zoneIn(form: Form): { readonly time_zone?: string } {
  const time_zone = form.value('time_zone');
  return time_zone === undefined ? {} : { time_zone };
}

const newPosted = forMembers.post('/maintenance/new', async (request) =>
  act(request, await newSubject(request)),
);

async function act(request: MembersRequest, subject: EditedWindow): Promise<PageAnswer> {
  const { form } = request;
  if (form.value('act') === 'look') return shownWith(request, subject, freshForm(form));
  try {
    return await save(request, subject);
  } catch (error) {
    if (
      error instanceof Refusal &&
      (error.code === 'maintenance_window_not_found' || error.code === 'role_insufficient')
    )
      throw error;
    // A fault of a rule that was chosen from the list is shown beside the list.
    const beside = repeatOf(form) === 'own' ? {} : { rrule: 'repeats' };
    return shownWith(request, subject, refusedForm(form, error, { fields, beside }));
  }
}

async function save(
  { ask, form, now }: MembersRequest,
  { window }: EditedWindow,
): Promise<PageAnswer> {
  const input = inputIn(form, now);
  const { name, ...others } = input;
  if (window !== undefined) {
    const { id } = await ask(updateMaintenanceWindow, { window_id: window.id, ...input });
    return seeOther(`/maintenance/${id}`, { said: 'Saved.' });
  }
  // For a new window, an empty name means none; for an existing one, it removes the name.
  const { id } = await ask(createMaintenanceWindow, {
    ...others,
    ...zoneIn(form),
    ...(name === '' ? {} : { name }),
    ...(input.rrule === '' ? { rrule: null } : {}),
  });
  return seeOther(`/maintenance/${id}`, {
    said: isNow(form)
      ? 'Maintenance started. Alerts wait until it ends.'
      : 'Maintenance scheduled.',
    mayUndo: true,
  });
}

const editPage = forMembers.get('/maintenance/:window_id/edit', async (request) => {
  const subject = await editSubject(request);
  return shownWith(request, subject, freshForm(formOfWindow(subject.shown)));
});

async function editSubject(
  request: MembersRequest,
): Promise<EditedWindow & { readonly shown: Shown }> {
  const [shown, choices] = await Promise.all([
    request.ask(showMaintenanceWindow, { window_id: request.path.window_id }),
    request.ask(getChannelChoices),
  ]);
  refuseUnlessMay(request, updateMaintenanceWindow);
  const { window } = shown;
  const tickedFirst = [...window.monitors, ...window.groups];
  return {
    choices,
    shown,
    window,
    zone: window.time_zone,
    deviceZone: deviceZoneFrom(request.cookies),
    action: `/maintenance/${window.id}/edit`,
    tickedFirst,
  };
}

const editPosted = forMembers.post('/maintenance/:window_id/edit', async (request) =>
  act(request, await editSubject(request)),
);

export const windowFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
