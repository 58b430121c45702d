import type { Kind } from '../../../shared/api/config-keys.ts';
import { createMonitor, getMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { type OutputOf, statusOf } from '../../../shared/api/operation.ts';
import { getTestResults, testMonitor } from '../../../shared/api/test-runs.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { countInWords } from '../../../shared/base/text.ts';
import { evidenceRows } from '../../incidents/pages/evidence.ts';
import {
  listMonitorChannels,
  listRecipients,
  setMonitorChannels,
} from '../../notifications/contract.ts';
import { byContinent, msText, stateMark } from '../../web/elements.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import { type FormState, freshForm, refusedForm, refuseUnlessMay } from '../../web/forms.ts';
import { type Html, html } from '../../web/html.ts';
import {
  type Ask,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { getMonitorChoices } from '../contract.ts';
import {
  configFrom,
  emptyForm,
  formOfConfig,
  nameOf,
  otherName,
  settingsOf,
} from './form-config.ts';
import {
  type Choices,
  channelsName,
  continentsFor,
  firstInterval,
  intervalFrom,
  kindFrom,
  type Monitor,
  monitorForm,
  type Recipients,
  type Subject,
} from './form-fields.ts';

const ownFields = ['type', 'target', 'name', 'interval_s', 'group', 'tags'];

const fieldNames = (kind: Kind): readonly string[] => [
  ...ownFields,
  ...settingsOf(kind).map((setting) => nameOf(setting)),
  'config.basic_auth.username',
  'config.basic_auth.password',
  otherName,
];

type Fault = { readonly keys: readonly string[]; readonly remedy: string };

/** Splits the sentence of a refused config into a list of keys, each with what is valid. */
const faultsIn = (message: string): readonly Fault[] =>
  message.split(/; (?=`[^`]+`(?:, `[^`]+`)* cannot be used: )/).flatMap((part): Fault[] => {
    const [, keys, remedy] = /^(`[^`]+`(?:, `[^`]+`)*) cannot be used: ([\s\S]*)$/.exec(part) ?? [];
    return keys === undefined || remedy === undefined
      ? []
      : [{ keys: keys.split(', ').map((key) => key.replaceAll('`', '')), remedy }];
  });

/** The field for a key or for the key that contains it: `json[0].path` belongs to `json`. */
const fieldFor = (key: string, fields: readonly string[]): string | undefined => {
  for (let at = key; at !== ''; at = at.replace(/(?:^|\.|\[)[^.[]*$/, ''))
    if (fields.includes(`config.${at}`)) return `config.${at}`;
  return undefined;
};

/** A pair with a password field of its own is shown at that field. */
const shownAt = (name: string): string =>
  name === 'config.basic_auth' ? 'config.basic_auth.username' : name;

/** Replaces keys with the labels of their fields. */
const inWords = (remedy: string, kind: Kind): string => {
  const words = remedy.replaceAll(/`([a-z_]+)`/g, (_, key: string) => {
    const setting = settingsOf(kind).find((each) => each.key === key);
    return setting ? `“${setting.label}”` : key;
  });
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
};

/**
 * The form again, with the refusal beside the fields; a refused config names several fields at
 * once.
 */
export const refusedMonitorForm = (form: Form, error: unknown, kind: Kind): FormState => {
  const fields = fieldNames(kind);
  if (error instanceof Refusal && error.code === 'group_not_found')
    return {
      form,
      faults: new Map([['group', 'This group is not there any more; choose another.']]),
      objections: [],
      status: 400,
    };
  const found =
    error instanceof Refusal && error.code === 'config_invalid' ? faultsIn(error.message) : [];
  if (!(error instanceof Refusal) || found.length === 0) return refusedForm(form, error, fields);
  const faults = new Map<string, string>();
  const objections: string[] = [];
  for (const { keys, remedy } of found)
    for (const key of keys) {
      const name = fieldFor(key, fields);
      if (name === undefined) objections.push(`${key}: ${inWords(remedy, kind)}`);
      else faults.set(shownAt(name), inWords(remedy, kind));
    }
  return { form, faults, objections, status: statusOf[error.kind] };
};

/**
 * What a test run shows, piece by piece in the order of the document as answers come: who was
 * asked, each answer, and the summary. The line of a continent that is still checking is there from
 * the start; the style hides it once its answer appears below.
 */
export type TestResults = OutputOf<typeof getTestResults>;
type TestAnswer = TestResults['answers'][number];
type TestedProbes = TestResults['asked'];

const phaseNames = [
  ['dns', 'DNS'],
  ['tcp', 'TCP'],
  ['tls', 'TLS'],
  ['first_byte', 'first byte'],
] as const;

type Phase = { readonly name: string; readonly words: string; readonly ms: number };

const phasesOf = ({ phases, took_ms }: TestAnswer): readonly Phase[] => {
  const known = phaseNames.flatMap(([name, words]): Phase[] => {
    const ms = phases?.[name];
    return typeof ms === 'number' ? [{ name, words, ms }] : [];
  });
  const rest = took_ms - known.reduce((sum, { ms }) => sum + ms, 0);
  return known.length > 0 && rest >= 1
    ? [...known, { name: 'rest', words: 'body', ms: rest }]
    : known;
};

const width = 1_000;

/** The duration of each phase. */
const phaseBar = (answer: TestAnswer): Html | null => {
  const phases = phasesOf(answer);
  const whole = phases.reduce((sum, { ms }) => sum + ms, 0);
  if (phases.length < 2 || whole <= 0) return null;
  let from = 0;
  return html`
    <svg class="phase-bar" viewBox="0 0 ${width} 8" preserveAspectRatio="none" aria-hidden="true">
      ${phases.map(({ name, ms }) => {
        const begin = from;
        from += (ms / whole) * width;
        return html`
          <rect
            class="phase-${name}"
            x="${begin.toFixed(1)}"
            width="${(from - begin).toFixed(1)}"
            height="8"
          ></rect>
        `;
      })}
    </svg>
    <span class="phase-words">
      ${phases.map(
        ({ name, words, ms }) =>
          html`<span><i class="phase-dot phase-${name}"></i>${words} ${msText(ms)}</span> `,
      )}
    </span>
  `;
};

const markOf = ({ outcome }: TestAnswer): Html => {
  if (outcome === 'ok') return stateMark('up', 'Passes');
  return outcome === 'fail' ? stateMark('down', 'Fails') : stateMark('unknown', 'Cannot tell');
};

/** A cause says it already. */
const testAnswerStatusOf = ({ evidence, cause }: TestAnswer): string => {
  if (cause !== null) return '';
  const status = evidence?.status;
  const rcode = evidence?.rcode;
  return typeof status === 'number' ? `status ${status}` : typeof rcode === 'string' ? rcode : '';
};

const answerLine = (answer: TestAnswer, at: number): Html =>
  html`
    <li class="answer answer-${at}" id="answer-${at}">
      ${markOf(answer)}
      <span class="answer-place">
        <b>${answer.continent}</b> <span class="softer">${answer.probe}</span>
      </span>
      <span class="answer-took">
        ${testAnswerStatusOf(answer)}
        ${testAnswerStatusOf(answer) !== '' && ', '}
        ${msText(answer.took_ms)}
      </span>
      ${
        answer.outcome === 'unknown'
          ? html`
            <p class="answer-unknown">
              ${answer.cause ?? 'The fault is its own'}: that says nothing about what it looked at.
            </p>
          `
          : answer.cause !== null && html`<p class="answer-cause">${answer.cause}</p>`
      }
      ${phaseBar(answer)}
    </li>
  `;

const count = (number: number): string => countInWords(number);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const placesText = (all: readonly { readonly continent: string }[]): string => {
  const names = [...new Set(all.toSorted(byContinent).map(({ continent }) => continent))];
  return names.length < 2
    ? (names[0] ?? '')
    : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
};

export const testRunBegins = (asked: TestedProbes): Html =>
  html`
    <section class="card trial" id="trial" aria-labelledby="trial-title" data-trial>
      <h2 id="trial-title">
        ${asked.length === 0 ? 'No probe can look now' : html`Seen from ${placesText(asked)}`}
      </h2>
      <ul class="answers" aria-live="polite">
        ${asked.map(
          ({ continent, probe }, at) =>
            html`
              <li class="waiting waiting-${at}" id="waiting-${at}">
                ${stateMark('pending', 'Looking')}
                <span class="answer-place">
                  <b>${continent}</b> <span class="softer">${probe}</span>
                </span>
              </li>
            `,
        )}
  `;

const placeOf = (asked: TestedProbes, { probe }: { readonly probe: string }): number =>
  asked.findIndex((each) => each.probe === probe);

export const testAnswers = (asked: TestedProbes, answers: readonly TestAnswer[]): Html =>
  html`${answers.map((answer) => answerLine(answer, placeOf(asked, answer)))}`;

const verdictOf = (asked: TestedProbes, answers: readonly TestAnswer[]): string => {
  if (asked.length === 0)
    return 'No probe is present for these places just now. Saved, it is looked at as soon as one is.';
  const fails = answers.filter(({ outcome }) => outcome === 'fail');
  const passes = answers.filter(({ outcome }) => outcome === 'ok');
  if (passes.length === asked.length)
    return asked.length === 1
      ? `${placesText(passes)} finds it in order.`
      : `All ${count(asked.length)} find it in order.`;
  if (fails.length === asked.length)
    return asked.length === 1
      ? `${placesText(fails)} finds it failing.`
      : `All ${count(asked.length)} find it failing: saved so, it would be down.`;
  if (fails.length > 0 && passes.length > 0)
    return `${capital(placesText(fails))} ${fails.length === 1 ? 'finds' : 'find'} it failing, ${placesText(passes)} ${passes.length === 1 ? 'finds' : 'find'} it in order.`;
  if (fails.length > 0)
    return `${placesText(fails)} ${fails.length === 1 ? 'finds' : 'find'} it failing; the rest cannot tell.`;
  return passes.length > 0
    ? `${placesText(passes)} ${passes.length === 1 ? 'finds' : 'find'} it in order; the rest cannot tell.`
    : 'Nobody could tell.';
};

/** What follows the answers once no more come. */
export const testRunEnds = ({
  asked,
  answers: asTheyCame,
}: Pick<TestResults, 'asked' | 'answers'>): Html => {
  const answers = asTheyCame.toSorted(byContinent);
  const silent = asked.flatMap((each, at) =>
    answers.some(({ probe }) => probe === each.probe) ? [] : [{ ...each, at }],
  );
  const rows = evidenceRows(answers);
  return html`
    ${silent.map(
      ({ continent, probe, at }) =>
        html`
          <li class="answer answer-${at}" id="answer-${at}">
            ${stateMark('unknown', 'No answer')}
            <span class="answer-place">
              <b>${continent}</b> <span class="softer">${probe}</span>
            </span>
            <p class="answer-unknown">
              Its probe did not answer in time; that says nothing about what it looked at.
            </p>
          </li>
        `,
    )}
    </ul>
    <p class="trial-verdict" role="status">
      ${verdictOf(asked, answers)} <span class="soft">Nothing of this is stored.</span>
    </p>
    ${
      rows.length > 0 &&
      html`
        <details class="as-table">
          <summary>What came back, side by side</summary>
          <div class="evidence table-scroll" tabindex="0" role="region" aria-label="What came back">
            <table>
              <thead>
                <tr>
                  <th scope="col">Continent</th>
                  ${answers.map(({ continent }) => html`<th scope="col">${continent}</th>`)}
                </tr>
              </thead>
              <tbody>${rows}</tbody>
            </table>
          </div>
        </details>
      `
    }
    </section>
  `;
};

/** Shown when the remaining answers cannot be received any more. */
export const testRunBroken = (): Html =>
  html`
    </ul>
    <p class="trial-verdict" role="status">What else was seen could not be heard. Test again.</p>
    </section>
  `;

/**
 * The results of the continents as they come. It says so when the answers cannot be received any
 * more because their coordinator was replaced.
 */
export async function* hearAll(
  ask: Ask,
  { trial, asked }: OutputOf<typeof testMonitor>,
): AsyncGenerator<Html> {
  yield testRunBegins(asked);
  let known = 0;
  for (;;) {
    const heard = await ask(getTestResults, { trial_id: trial, known }).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (!heard) {
      yield testRunBroken();
      return;
    }
    yield testAnswers(asked, heard.answers.slice(known));
    known = heard.answers.length;
    if (heard.over) {
      yield testRunEnds(heard);
      return;
    }
  }
}

type Config = Readonly<Record<string, unknown>>;

const answerWith = (subject: Subject, state: FormState, pieces?: AsyncIterable<Html>): PageAnswer =>
  show({
    ...(pieces === undefined ? {} : { later: { pieces, broken: testRunBroken } }),
    title: subject.monitor === undefined ? 'New monitor' : `Change ${subject.monitor.name}`,
    place: 'monitors',
    status: state.status,
    // Typed values may be secret.
    headers: { 'cache-control': 'no-store' },
    main: html`<div class="monitor-form-page">${monitorForm(subject, state)}</div>`,
  });

/** People write `shop.example` for `https://shop.example`. */
const targetOf = (kind: string, form: Form): string => {
  const target = (form.value('target') ?? '').trim();
  return kind === 'https' && /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[:/?#]|$)/i.test(target)
    ? `https://${target}`
    : target;
};

const tagsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

/** A field that the form did not have is not mentioned. */
const common = (kind: string, form: Form, config: Config) => {
  const [name, interval_s] = [form.value('name'), intervalFrom(form)];
  return {
    ...(name === undefined ? {} : { name }),
    ...(interval_s === undefined ? {} : { interval_s }),
    ...(form.names.includes('target') ? { target: targetOf(kind, form) } : {}),
    ...(form.names.includes('tags') ? { tags: tagsOf(form.value('tags') ?? '') } : {}),
    ...(form.names.includes('affects_group_status')
      ? { affects_group_status: form.value('affects_group_status') === 'true' }
      : {}),
    config,
  };
};

/** The same form, with every continent's result below it; nothing is saved. */
const tryIt = async (
  { ask, form }: MembersRequest,
  subject: Subject,
  config: Config,
): Promise<PageAnswer> => {
  const { kind, monitor } = subject;
  const { target = '', interval_s = null } = common(kind, form, config);
  const trial = await ask(testMonitor, {
    type: kind,
    target,
    interval_s,
    config,
    monitor: monitor?.id ?? null,
  });
  return answerWith(subject, freshForm(form), hearAll(ask, trial));
};

/** A form without the boxes leaves channels as they are; one that has them sends an empty value. */
const saveChannels = async (
  { ask, form }: MembersRequest,
  { channels }: Subject,
  monitor_id: string,
): Promise<void> => {
  if (!form.names.includes(channelsName)) return;
  const ticked = form.values(channelsName);
  // A channel that was deleted meanwhile notifies no one.
  const known = channels.map(({ id }) => id).filter((id) => ticked.includes(id));
  await ask(setMonitorChannels, { monitor_id, channels: known });
};

const create = async (
  request: MembersRequest,
  subject: Subject,
  config: Config,
): Promise<PageAnswer> => {
  const { ask, form } = request;
  const { kind } = subject;
  const group = form.value('group') || null;
  const { id, name } = await ask(createMonitor, {
    type: kind,
    ...common(kind, form, config),
    group,
  });
  await saveChannels(request, subject, id);
  return kind === 'heartbeat'
    ? seeOther(`/monitors/${id}#address`, {
        said: `${name} waits for its first ping. Its address stands below: give it to your job.`,
      })
    : seeOther(`/monitors/${id}`, { said: `${name} is watched from now on.` });
};

const change = async (
  request: MembersRequest,
  subject: Subject,
  monitor: Monitor,
  config: Config,
): Promise<PageAnswer> => {
  const { ask, form } = request;
  const { kind } = subject;
  const group = form.value('group');
  const moved = group === undefined ? {} : group === '' ? { ungroup: true } : { group };
  const { id, name } = await ask(updateMonitor, {
    monitor_id: monitor.id,
    ...common(kind, form, config),
    ...moved,
  });
  await saveChannels(request, subject, id);
  return seeOther(`/monitors/${id}`, { said: `${name} is changed.` });
};

/** Runs the action of the pressed button. A refusal shows the form again with its reasons. */
const act = async (request: MembersRequest, subject: Subject): Promise<PageAnswer> => {
  const { form } = request;
  const { kind, monitor } = subject;
  const asked = form.value('act');
  if (asked === 'look' || asked === 'more') return answerWith(subject, freshForm(form));
  const { config, faults } = configFrom(kind, form, monitor?.config ?? {}, continentsFor(subject));
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
};

/** For the chosen group; a missing group is reported on saving. */
const toldOf = async (
  { ask, form }: MembersRequest,
  { groups }: Choices,
  monitor: Monitor | undefined,
): Promise<Recipients> => {
  const chosen = form.value('group') ?? monitor?.group ?? '';
  const group = groups.find(({ id }) => id === chosen)?.id ?? null;
  return (await ask(listRecipients, { monitor: monitor?.id ?? null, group })).items;
};

const newSubject = async (request: MembersRequest, type: string | undefined): Promise<Subject> => {
  refuseUnlessMay(request, createMonitor);
  const [choices, { items: channels }] = await Promise.all([
    request.ask(getMonitorChoices),
    request.ask(listMonitorChannels, {}),
  ]);
  return {
    kind: kindFrom(type),
    choices,
    monitor: undefined,
    channels,
    told: await toldOf(request, choices, undefined),
  };
};

const editSubject = async (
  request: MembersRequest,
): Promise<Subject & { readonly monitor: Monitor }> => {
  const { ask, path } = request;
  const [monitor, choices, { items: channels }] = await Promise.all([
    ask(getMonitor, { monitor_id: path.monitor_id }),
    ask(getMonitorChoices),
    ask(listMonitorChannels, { monitor: path.monitor_id }),
  ]);
  refuseUnlessMay(request, updateMonitor);
  return {
    kind: kindFrom(monitor.type),
    choices,
    monitor,
    channels,
    told: await toldOf(request, choices, monitor),
  };
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
      type: kind,
      target,
      name,
      affects_group_status: 'true',
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
    const { kind, monitor, channels } = subject;
    const { target, name, interval_s, group, affects_group_status, tags, config } = monitor;
    const form = formOf({
      [channelsName]: channels.filter(({ chosen }) => chosen).map(({ id }) => id),
      ...formOfConfig(kind, config, continentsFor(subject)),
      target,
      name,
      interval_s,
      group: group ?? '',
      affects_group_status: String(affects_group_status),
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
