import { listWouldBeTold } from '../../../../../shared/api/inner/inner-alerts.ts';
import { getMonitorChoices } from '../../../../../shared/api/inner/inner-monitors.ts';
import { createMonitor, getMonitor, updateMonitor } from '../../../../../shared/api/monitors.ts';
import { tryMonitor } from '../../../../../shared/api/test-runs.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { trialBroken } from '../../parts/part-trial-answers.ts';
import { type Form, formOf } from '../../web-form-data.ts';
import { type FormState, freshForm } from '../../web-forms.ts';
import { type Html, html } from '../../web-html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';
import { configFrom, emptyForm, formOfConfig } from './page-monitor-form-config.ts';
import { type Choices, continentsFor, kindFrom, type Monitor, monitorForm, type Subject, type Told } from './page-monitor-form-drawn.ts';
import { firstInterval, intervalFrom } from './page-monitor-form-interval.ts';
import { refusedMonitorForm } from './page-monitor-form-refused.ts';
import { hearAll } from './page-monitor-form-trial.ts';

type Config = Readonly<Record<string, unknown>>;

const answerWith = (subject: Subject, state: FormState, pieces?: AsyncIterable<Html>): PageAnswer =>
  show({
    ...(pieces === undefined ? {} : { later: { pieces, broken: trialBroken } }),
    title: subject.monitor === undefined ? 'New monitor' : `Change ${subject.monitor.name}`,
    place: 'monitors',
    status: state.status,
    // What was typed may be a secret.
    headers: { 'cache-control': 'no-store' },
    main: html`<div class="monitor-form-page">${monitorForm(subject, state)}</div>`,
  });

/** `shop.example` is how people say `https://shop.example`. */
const targetOf = (kind: string, form: Form): string => {
  const target = (form.value('target') ?? '').trim();
  return kind === 'https' && /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[:/?#]|$)/i.test(target) ? `https://${target}` : target;
};

const tagsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

/** What was not in the form is not mentioned. */
const common = (kind: string, form: Form, config: Config) => {
  const [name, interval_s] = [form.value('name'), intervalFrom(form)];
  return {
    ...(name === undefined ? {} : { name }),
    ...(interval_s === undefined ? {} : { interval_s }),
    ...(form.names.includes('target') ? { target: targetOf(kind, form) } : {}),
    ...(form.names.includes('tags') ? { tags: tagsOf(form.value('tags') ?? '') } : {}),
    ...(form.names.includes('affects_group_status') ? { affects_group_status: form.value('affects_group_status') === 'true' } : {}),
    config,
  };
};

/** The same form, and below it what every continent sees of it: nothing is saved. */
const tryIt = async ({ ask, form }: MembersRequest, subject: Subject, config: Config): Promise<PageAnswer> => {
  const { kind, monitor } = subject;
  const { target = '', interval_s = null } = common(kind, form, config);
  const trial = await ask(tryMonitor, { type: kind, target, interval_s, config, monitor: monitor?.id ?? null });
  return answerWith(subject, freshForm(form), hearAll(ask, trial));
};

const create = async ({ ask, form }: MembersRequest, { kind }: Subject, config: Config): Promise<PageAnswer> => {
  const group = form.value('group') || null;
  const { id, name } = await ask(createMonitor, { type: kind, ...common(kind, form, config), group });
  return kind === 'heartbeat'
    ? seeOther(`/monitors/${id}#address`, { said: `${name} waits for its first ping. Its address stands below: give it to your job.` })
    : seeOther(`/monitors/${id}`, { said: `${name} is watched from now on.` });
};

const change = async ({ ask, form }: MembersRequest, { kind }: Subject, monitor: Monitor, config: Config): Promise<PageAnswer> => {
  const group = form.value('group');
  const moved = group === undefined ? {} : group === '' ? { ungroup: true } : { group };
  const { id, name } = await ask(updateMonitor, { monitor_id: monitor.id, ...common(kind, form, config), ...moved });
  return seeOther(`/monitors/${id}`, { said: `${name} is changed.` });
};

/** What the button that was pressed asks for. Whatever is refused comes back as the form, with the reasons. */
const act = async (request: MembersRequest, subject: Subject): Promise<PageAnswer> => {
  const { form } = request;
  const { kind, monitor } = subject;
  const asked = form.value('act');
  if (asked === 'look' || asked === 'more') return answerWith(subject, freshForm(form));
  const { config, faults } = configFrom(kind, form, monitor?.config ?? {}, continentsFor(subject));
  if (faults.size > 0) return answerWith(subject, { form, faults, objections: [], status: 400 });
  try {
    if (asked === 'try') return await tryIt(request, subject, config);
    return await (monitor === undefined ? create(request, subject, config) : change(request, subject, monitor, config));
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'monitor_not_found' || error.code === 'role_insufficient')) throw error;
    return answerWith(subject, refusedMonitorForm(form, error, kind));
  }
};

/** In the group that was chosen; one that is not there is said when it is saved. */
const toldOf = async ({ ask, form }: MembersRequest, { groups }: Choices, monitor: Monitor | undefined): Promise<Told> => {
  const chosen = form.value('group') ?? monitor?.group ?? '';
  const group = groups.find(({ id }) => id === chosen)?.id ?? null;
  return (await ask(listWouldBeTold, { monitor: monitor?.id ?? null, group })).items;
};

const newSubject = async (request: MembersRequest, type: string | undefined): Promise<Subject> => {
  refuseUnlessMay(request, createMonitor);
  const choices = await request.ask(getMonitorChoices);
  return { kind: kindFrom(type), choices, monitor: undefined, told: await toldOf(request, choices, undefined) };
};

const editSubject = async (request: MembersRequest): Promise<Subject & { readonly monitor: Monitor }> => {
  const { ask, path } = request;
  const [monitor, choices] = await Promise.all([ask(getMonitor, { monitor_id: path.monitor_id }), ask(getMonitorChoices)]);
  refuseUnlessMay(request, updateMonitor);
  return { kind: kindFrom(monitor.type), choices, monitor, told: await toldOf(request, choices, monitor) };
};

const newPage: Page = {
  method: 'GET',
  path: '/monitors/new',
  needs: 'member',
  answer: async (request) => {
    const { target, name, interval_s, type } = request.query;
    const subject = await newSubject(request, type);
    const { kind, choices } = subject;
    const form = emptyForm(kind, continentsFor(subject), {
      ...{ type: kind, target, name, affects_group_status: 'true' },
      interval_s: interval_s ?? firstInterval(kind, choices.min_interval_s),
    });
    return answerWith(subject, freshForm(form));
  },
};

const newPosted: Page = {
  method: 'POST',
  path: '/monitors/new',
  needs: 'member',
  answer: async (request) => act(request, await newSubject(request, request.form.value('type'))),
};

const editPage: Page = {
  method: 'GET',
  path: '/monitors/:monitor_id/edit',
  needs: 'member',
  answer: async (request) => {
    const subject = await editSubject(request);
    const { kind, monitor } = subject;
    const { target, name, interval_s, group, affects_group_status, tags, config } = monitor;
    const form = formOf({
      ...formOfConfig(kind, config, continentsFor(subject)),
      ...{ target, name, interval_s, group: group ?? '', affects_group_status: String(affects_group_status) },
      tags: tags.join(', '),
    });
    return answerWith(subject, freshForm(form));
  },
};

const editPosted: Page = {
  method: 'POST',
  path: '/monitors/:monitor_id/edit',
  needs: 'member',
  answer: async (request) => act(request, await editSubject(request)),
};

export const monitorFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
