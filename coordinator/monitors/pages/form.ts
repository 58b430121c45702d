import type { Kind } from '../../../shared/api/config-keys.ts';
import { createMonitor, getMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { createTest } from '../../../shared/api/test-runs.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { mask } from '../../../shared/checks/config-secrets.ts';
import {
  listMonitorChannels,
  listRecipients,
  setMonitorChannels,
} from '../../notifications/contract.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import { type FormState, freshForm, refusedForm, refuseUnlessMay } from '../../web/forms.ts';
import type { Html } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { findSameTarget, getMonitorChoices } from '../contract.ts';
import {
  configFrom,
  emptyForm,
  firstDelay,
  formOfConfig,
  nameOf,
  otherName,
  settingsOf,
} from './form-config.ts';
import {
  type Choices,
  channelsName,
  type EditedMonitor,
  firstInterval,
  intervalFrom,
  kindFrom,
  locationsOf,
  type Monitor,
  monitorForm,
  type Recipients,
  sameWords,
} from './form-fields.ts';
import {
  isParentSearch,
  parentFields,
  parentsAsked,
  parentsIn,
  parentValues,
} from './form-parents.ts';
import { shownAddress } from './heartbeat.ts';
import { targetOfPasted } from './pasted-address.ts';
import { streamTestRun, testRunBroken } from './test-run.ts';

const ownFields = ['type', 'target', 'name', 'interval_s', 'group', 'tags', 'runbook'];

/** The form again, with the refusal beside the fields. */
export function refusedMonitorForm(form: Form, error: unknown, kind: Kind): FormState {
  return error instanceof Refusal && error.code === 'group_not_found'
    ? {
        form,
        faults: new Map([['group', 'This group was deleted. Choose another.']]),
        objections: [],
        status: 400,
      }
    : refusedForm(form, error, {
        fields: fieldNames(kind),
        // A pair with a password field of its own is shown at that field.
        beside: { 'config.basic_auth': 'config.basic_auth.username', ...parentFields },
        inWords: (text) => inWords(text, kind),
      });
}

function fieldNames(kind: Kind): readonly string[] {
  return [
    ...ownFields,
    ...settingsOf(kind).map((setting) => nameOf(setting)),
    'config.basic_auth.username',
    'config.basic_auth.password',
    ...Object.values(parentFields),
    otherName,
  ];
}

/** Replaces keys with the labels of their fields. */
function inWords(remedy: string, kind: Kind): string {
  return remedy.replaceAll(/`([a-z_]+)`/g, (_, key: string) => {
    const setting = settingsOf(kind).find((each) => each.key === key);
    return setting ? `“${setting.label}”` : key;
  });
}

type Config = Readonly<Record<string, unknown>>;

const newPage = forMembers.get('/monitors/new', async (request) => {
  const { target, name, interval_s, type, from } = request.query;
  if (from !== undefined) return cloned(request, from);
  const subject = await newSubject(request, type);
  const given = { target, name, ...(interval_s === undefined ? {} : { interval_s }) };
  return answerWith(subject, freshForm(filled(subject, given)));
});

/** As the form of a new one, with all that it may take over. Secrets stay where they are. */
async function cloned(request: MembersRequest, from: string): Promise<PageAnswer> {
  const [monitor, { items: channels }] = await Promise.all([
    request.ask(getMonitor, { monitor_id: from }),
    request.ask(listMonitorChannels, { monitor: from }),
  ]);
  const { type, target, name, interval_s, group, affects_group_status, tags, runbook, config } =
    monitor;
  const subject = await newSubject(request, type, monitor.depends_on_monitors);
  const open = withoutSecrets(config);
  const form = formOf({
    ...formOfConfig(subject.kind, open, locationsOf({ choices: subject.choices, monitor })),
    type,
    target,
    name: `Copy of ${name}`,
    interval_s,
    group: group ?? '',
    affects_group_status,
    tags: tags.join(', '),
    runbook,
    ...parentValues(monitor),
    [channelsName]: channels.filter(({ chosen }) => chosen).map(({ id }) => id),
  });
  const lacksSecrets = JSON.stringify(open) !== JSON.stringify(config);
  return answerWith({ ...subject, lacksSecrets }, freshForm(form));
}

/** A mask stands for a secret that another monitor keeps. */
function withoutSecrets(config: Config): Config {
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => {
      if (value === mask) return [];
      if (!isRecord(value)) return [[key, value]];
      const inside = withoutSecrets(value);
      return Object.keys(inside).length === 0 ? [] : [[key, inside]];
    }),
  );
}

async function newSubject(
  request: MembersRequest,
  type: string | undefined,
  parents: readonly string[] = [],
): Promise<EditedMonitor> {
  refuseUnlessMay(request, createMonitor);
  const kind = kindFrom(type);
  const target =
    targetOfPasted(kind, request.form.value('target') ?? '') || (request.query.target ?? '');
  const [choices, { items: same }, { items: channels }] = await Promise.all([
    request.ask(getMonitorChoices, parentsAsked(request.form, parents)),
    request.ask(findSameTarget, { type: kind, target }),
    request.ask(listMonitorChannels, {}),
  ]);
  return {
    kind,
    choices,
    monitor: undefined,
    channels,
    same,
    told: await toldOf(request, choices, undefined),
  };
}

/** For the chosen group; a missing group is reported on saving. */
async function toldOf(
  { ask, form }: MembersRequest,
  { groups }: Choices,
  monitor: Monitor | undefined,
): Promise<Recipients> {
  const chosen = form.value('group') ?? monitor?.group ?? '';
  const group = groups.find(({ id }) => id === chosen)?.id ?? null;
  return (await ask(listRecipients, { monitor: monitor?.id ?? null, group })).items;
}

function answerWith(
  subject: EditedMonitor,
  state: FormState,
  pieces?: AsyncIterable<Html>,
): PageAnswer {
  return show({
    ...(pieces === undefined ? {} : { later: { pieces, broken: testRunBroken } }),
    title: subject.monitor === undefined ? 'New monitor' : `Edit ${subject.monitor.name}`,
    place: 'monitors',
    status: state.status,
    // Typed values may be secret.
    headers: { 'cache-control': 'no-store' },
    main: monitorForm(subject, state, pieces !== undefined),
  });
}

/** A new form; `given` are its first values. */
function filled(subject: EditedMonitor, given: Parameters<typeof emptyForm>[2]): Form {
  return emptyForm(subject.kind, locationsOf(subject), {
    type: subject.kind,
    affects_group_status: 'true',
    interval_s: firstInterval(subject.kind, subject.choices.min_interval_s),
    ...firstDelay,
    ...given,
  });
}

const newPosted = forMembers.post('/monitors/new', async (request) => {
  const { form } = request;
  const subject = await newSubject(request, form.value('type'));
  // The empty dashboard sends an address alone.
  return form.names.includes('interval_s')
    ? act(request, subject)
    : act(
        {
          ...request,
          form: filled(subject, { target: form.value('target'), act: form.value('act') }),
        },
        subject,
      );
});

/** Runs the action of the pressed button. A refusal shows the form again with its reasons. */
async function act(request: MembersRequest, subject: EditedMonitor): Promise<PageAnswer> {
  const { form } = request;
  const { kind, monitor } = subject;
  const asked = form.value('act');
  // Enter in the search of parents searches, and anywhere else it saves, as the button does.
  const isSearch = asked === 'enter' && isParentSearch(form);
  if (asked === 'look' || asked === 'more' || isSearch) return answerWith(subject, freshForm(form));
  const { config, faults } = configFrom(kind, form, monitor?.config ?? {}, locationsOf(subject));
  if (faults.size > 0) return answerWith(subject, { form, faults, objections: [], status: 400 });
  try {
    if (asked === 'try') return await tryIt(request, subject, config);
    return await (monitor === undefined
      ? create(request, subject, config)
      : change(request, subject, monitor, config));
  } catch (error) {
    if (
      error instanceof Refusal &&
      (error.code === 'monitor_not_found' || error.code === 'role_insufficient')
    )
      throw error;
    return answerWith(subject, refusedMonitorForm(form, error, kind));
  }
}

/** The same form, with every continent's result below it; nothing is saved. */
async function tryIt(
  { ask, form }: MembersRequest,
  subject: EditedMonitor,
  config: Config,
): Promise<PageAnswer> {
  const { kind, monitor } = subject;
  const { target = '', interval_s = null } = common(kind, form, config);
  const test = await ask(createTest, {
    type: kind,
    target,
    interval_s,
    config,
    monitor: monitor?.id ?? null,
    wait_s: 0,
  });
  return answerWith(subject, freshForm(form), streamTestRun(ask, test));
}

/** A field that the form did not have is not mentioned. */
function common(kind: string, form: Form, config: Config) {
  const [name, interval_s] = [form.value('name'), intervalFrom(form)];
  return {
    ...(name === undefined ? {} : { name }),
    ...(interval_s === undefined ? {} : { interval_s }),
    ...(form.names.includes('target')
      ? { target: targetOfPasted(kind, form.value('target') ?? '') }
      : {}),
    ...(form.names.includes('tags') ? { tags: tagsOf(form.value('tags') ?? '') } : {}),
    ...(form.names.includes('runbook')
      ? { runbook: (form.value('runbook') ?? '').replaceAll('\r\n', '\n') }
      : {}),
    ...(form.names.includes('affects_group_status')
      ? { affects_group_status: form.value('affects_group_status') === 'true' }
      : {}),
    config,
  };
}

function tagsOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

async function create(
  request: MembersRequest,
  subject: EditedMonitor,
  config: Config,
): Promise<PageAnswer> {
  const { ask, form } = request;
  const { kind, same } = subject;
  const group = form.value('group') || null;
  const { id, name } = await ask(createMonitor, {
    type: kind,
    ...common(kind, form, config),
    ...parentsIn(form, subject.choices),
    group,
  });
  await saveChannels(request, subject, id);
  return kind === 'heartbeat'
    ? seeOther(shownAddress(id), {
        said: `Monitor created. ${name} waits for its first ping: give your job the address below.`,
      })
    : seeOther(`/monitors/${id}`, {
        said: same.length === 0 ? 'Monitor created.' : `Monitor created. ${sameWords(same)}`,
      });
}

/** A form without the boxes leaves channels as they are; one that has them sends an empty value. */
async function saveChannels(
  { ask, form }: MembersRequest,
  { channels }: EditedMonitor,
  monitor_id: string,
): Promise<void> {
  if (!form.names.includes(channelsName)) return;
  const ticked = form.values(channelsName);
  // A channel that was deleted meanwhile notifies no one.
  const known = channels.map(({ id }) => id).filter((id) => ticked.includes(id));
  await ask(setMonitorChannels, { monitor_id, channels: known });
}

async function change(
  request: MembersRequest,
  subject: EditedMonitor,
  monitor: Monitor,
  config: Config,
): Promise<PageAnswer> {
  const { ask, form } = request;
  const { kind } = subject;
  const group = form.value('group');
  const moved = group === undefined ? {} : group === '' ? { ungroup: true } : { group };
  const { id, name } = await ask(updateMonitor, {
    monitor_id: monitor.id,
    ...common(kind, form, config),
    ...parentsIn(form, subject.choices),
    ...moved,
  });
  await saveChannels(request, subject, id);
  return seeOther(`/monitors/${id}`, { said: `${name} saved.` });
}

const editPage = forMembers.get('/monitors/:monitor_id/edit', async (request) => {
  const subject = await editSubject(request);
  return answerWith(subject, freshForm(savedForm(subject)));
});

async function editSubject(
  request: MembersRequest,
): Promise<EditedMonitor & { readonly monitor: Monitor }> {
  const { ask, path } = request;
  const [monitor, { items: channels }] = await Promise.all([
    ask(getMonitor, { monitor_id: path.monitor_id }),
    ask(listMonitorChannels, { monitor: path.monitor_id }),
  ]);
  refuseUnlessMay(request, updateMonitor);
  const parents = parentsAsked(request.form, monitor.depends_on_monitors);
  const choices = await ask(getMonitorChoices, parents);
  return {
    kind: kindFrom(monitor.type),
    choices,
    monitor,
    channels,
    same: [],
    told: await toldOf(request, choices, monitor),
  };
}

/** With what is saved. */
function savedForm(
  subject: EditedMonitor & { readonly monitor: Monitor },
  more: Parameters<typeof formOf>[0] = {},
): Form {
  const { kind, monitor, channels } = subject;
  const { target, name, interval_s, group, affects_group_status, tags, runbook, config } = monitor;
  return formOf({
    [channelsName]: channels.filter(({ chosen }) => chosen).map(({ id }) => id),
    ...formOfConfig(kind, config, locationsOf(subject)),
    target,
    name,
    interval_s,
    group: group ?? '',
    affects_group_status,
    tags: tags.join(', '),
    runbook,
    ...parentValues(monitor),
    ...more,
  });
}

const editPosted = forMembers.post('/monitors/:monitor_id/edit', async (request) => {
  const { form } = request;
  const subject = await editSubject(request);
  // "Test now" of the monitor's page sends no values: what is saved is tested.
  const testsSaved = form.value('act') === 'try' && !form.names.includes('interval_s');
  return act(
    testsSaved ? { ...request, form: savedForm(subject, { act: 'try' }) } : request,
    subject,
  );
});

export const monitorFormPages: readonly Page[] = [newPage, newPosted, editPage, editPosted];
