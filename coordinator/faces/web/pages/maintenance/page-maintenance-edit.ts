import { getChannelChoices } from '../../../../../shared/api/inner/inner-channels.ts';
import {
  createMaintenanceWindow,
  getMaintenanceWindow,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from '../../../../../shared/api/maintenance.ts';
import { InvalidInput } from '../../../../../shared/api/operation.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import type { Form } from '../../web-form-data.ts';
import { type FormState, freshForm, refusedForm } from '../../web-forms.ts';
import type { Html } from '../../web-html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther } from '../../web-page.ts';
import { preview } from './page-maintenance-ahead.ts';
import { formPage, type Subject } from './page-maintenance-form.ts';
import { repeatOf } from './page-maintenance-repeat.ts';
import { formOfNew, formOfWindow, inputIn, isNow, timesIn, type Window } from './page-maintenance-values.ts';

const notYet = 'Say when it begins and ends; its next ten times stand here then, on both clocks.';

/** What the form comes to; why it comes to nothing yet is said in its place. */
const previewOf = async (request: MembersRequest, form: Form, { window }: Subject): Promise<Html> => {
  const { starts_at, ends_at, rrule } = timesIn(form, request.now);
  if (starts_at === '' || ends_at === '') return preview(notYet, request);
  try {
    const of = window === undefined ? {} : { window: window.id };
    return preview(await request.ask(previewMaintenanceWindow, { starts_at, ends_at, ...of, ...(rrule === '' ? {} : { rrule }) }), request);
  } catch (error) {
    if (error instanceof InvalidInput) return preview(notYet, request);
    if (error instanceof Refusal && (error.code === 'window_invalid' || error.code === 'rrule_invalid'))
      return preview(`Nothing yet: ${error.message.replace(/^[a-z_]+: /, '')}`, request);
    throw error;
  }
};

const shownWith = async (request: MembersRequest, subject: Subject, state: FormState): Promise<PageAnswer> =>
  formPage(subject, state, await previewOf(request, state.form, subject));

const fields = ['name', 'starts_at', 'ends_at', 'repeats', 'rrule', 'monitors', 'groups'];

/** What is wrong with a rule that was chosen from the usual ones stands beside that choice. */
const besideChoice = (state: FormState): FormState => {
  const fault = state.faults.get('rrule');
  if (fault === undefined || repeatOf(state.form) === 'own') return state;
  return { ...state, faults: new Map([...state.faults].map(([name, words]) => [name === 'rrule' ? 'repeats' : name, words])) };
};

const save = async ({ ask, form, now }: MembersRequest, { window }: Subject): Promise<PageAnswer> => {
  const input = inputIn(form, now);
  const { name, ...others } = input;
  if (window !== undefined) {
    const { id } = await ask(updateMaintenanceWindow, { window_id: window.id, ...input });
    return seeOther(`/maintenance/${id}`, { said: 'It is changed.' });
  }
  // A new one without a name has none; of an old one an empty name takes it away.
  const { id } = await ask(createMaintenanceWindow, {
    ...others,
    ...(name === '' ? {} : { name }),
    ...(input.rrule === '' ? { rrule: null } : {}),
  });
  return seeOther(`/maintenance/${id}`, { said: isNow(form) ? 'It runs: nobody is told until it is over.' : 'It is planned.' });
};

const act = async (request: MembersRequest, subject: Subject): Promise<PageAnswer> => {
  const { form } = request;
  if (form.value('act') === 'look') return shownWith(request, subject, freshForm(form));
  try {
    return await save(request, subject);
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'maintenance_window_not_found' || error.code === 'role_insufficient')) throw error;
    return shownWith(request, subject, besideChoice(refusedForm(form, error, fields)));
  }
};

const newSubject = async (request: MembersRequest): Promise<Subject> => {
  refuseUnlessMay(request, createMaintenanceWindow);
  const { address, query } = request;
  const tickedFirst = [query.monitor, query.group].filter((id) => id !== undefined);
  const choices = await request.ask(getChannelChoices);
  return { choices, window: undefined, zone: request.caller.organisation.time_zone, action: address, tickedFirst };
};

const editSubject = async (request: MembersRequest): Promise<Subject & { readonly window: Window }> => {
  const [window, choices] = await Promise.all([
    request.ask(getMaintenanceWindow, { window_id: request.path.window_id }),
    request.ask(getChannelChoices),
  ]);
  refuseUnlessMay(request, updateMaintenanceWindow);
  const tickedFirst = [...window.monitors, ...window.groups];
  return { choices, window, zone: window.time_zone, action: `/maintenance/${window.id}/edit`, tickedFirst };
};

const newPage: Page = {
  method: 'GET',
  path: '/maintenance/new',
  needs: 'member',
  answer: async (request) => {
    const subject = await newSubject(request);
    return shownWith(request, subject, freshForm(formOfNew(request.query, subject.zone, request.now)));
  },
};

const newPosted: Page = {
  method: 'POST',
  path: '/maintenance/new',
  needs: 'member',
  answer: async (request) => act(request, await newSubject(request)),
};

const editPage: Page = {
  method: 'GET',
  path: '/maintenance/:window_id/edit',
  needs: 'member',
  answer: async (request) => {
    const subject = await editSubject(request);
    return shownWith(request, subject, freshForm(formOfWindow(subject.window)));
  },
};

const editPosted: Page = {
  method: 'POST',
  path: '/maintenance/:window_id/edit',
  needs: 'member',
  answer: async (request) => act(request, await editSubject(request)),
};

export const windowFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
