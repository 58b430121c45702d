import {
  addStatusPageReportUpdate,
  createStatusPageReport,
  deleteStatusPageReport,
  getStatusPageReport,
  impacts,
  updateKinds,
  updateStatusPageReport,
} from '../../../shared/api/status-page-reports.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import {
  choiceField,
  enterSaves,
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
  selectField,
  textArea,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import {
  type FormPage,
  forMembers,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { previewStatusPage } from '../contract.ts';
import {
  card,
  type Editing,
  editingOf,
  impactWords,
  postKindWords,
  postLine,
  type Report,
  readersOf,
  reportMark,
  trail,
} from './cards.ts';
import { previewFrame } from './preview.ts';

/** Incidents and announcements that people write themselves. */

const kindHelp: Readonly<Record<(typeof updateKinds)[number], string>> = {
  announcement: 'Not about an incident.',
  investigating: 'The cause is not known yet.',
  identified: 'The cause is known, and being fixed.',
  monitoring: 'Fixed, watching.',
  resolved: 'Closes the incident.',
};

const faultsOf = ['title', 'kind', 'text', 'affected', 'started_at', 'ends_at'];

const path = '/status-pages/:page_id/reports';

export const reportPages: readonly Page[] = [
  ...forMembers.form(`${path}/new`, async (request) => {
    refuseUnlessMay(request, createStatusPageReport);
    const editing = await editingOf(request);
    const cause = editing.editor.causes.find(({ id }) => id === request.query.cause);
    const subject = { editing, report: undefined, cause };
    return reportForm(subject, formOfNew(cause), () => created(subject));
  }),
  ...forMembers.form(`${path}/:report_id`, async (request) => {
    refuseUnlessMay(request, updateStatusPageReport);
    const { page_id, report_id } = request.path;
    const [editing, report] = await Promise.all([
      editingOf(request),
      request.ask(getStatusPageReport, { page_id, report_id }),
    ]);
    const cause = editing.editor.causes.find(({ id }) => id === report.cause);
    const subject = { editing, report, cause };
    return reportForm(subject, formOfReport(report, cause), () => updated(subject, report));
  }),
  forMembers.post(`${path}/:report_id/delete`, async ({ ask, path: { page_id, report_id } }) => {
    await ask(deleteStatusPageReport, { page_id, report_id });
    return seeOther(`/status-pages/${page_id}`, {
      said: 'Deleted. What was sent to subscribers stays with them.',
    });
  }),
];

type EditedReport = {
  readonly editing: Editing;
  /** The report to update; without one, the form creates one. */
  readonly report: Report | undefined;
  /** Of several services, with what is suggested to post about it. */
  readonly cause: Cause | undefined;
};

type Cause = Editing['editor']['causes'][number];

function reportForm(subject: EditedReport, first: Form, save: () => Promise<PageAnswer>): FormPage {
  const { form } = subject.editing.request;
  return {
    fresh: () => first,
    shown: (state) => shownWith(subject, state),
    fields: faultsOf,
    act: () => (form.value('act') === 'look' ? shownWith(subject, freshForm(form)) : save()),
  };
}

async function shownWith(subject: EditedReport, state: FormState): Promise<PageAnswer> {
  const { editing, report, cause } = subject;
  const { request, page } = editing;
  const { form } = state;
  const { html: document } = await request.ask(previewStatusPage, {
    page_id: page.id,
    report: {
      id: report?.id ?? null,
      title: form.value('title') || report?.title || 'Title',
      kind: form.value('kind') ?? 'investigating',
      text: textIn(form, subject),
      affected: affectedIn(form, editing),
      cause: report?.cause ?? cause?.id ?? null,
    },
  });
  return reportPage(subject, state, document);
}

/** What is typed, or else what is suggested for the kind. */
function textIn(form: Form, { cause }: EditedReport): string {
  const text = form.value('text') ?? '';
  const usual = cause?.usual.find(({ kind }) => kind === form.value('kind'))?.text;
  return text.trim() === '' ? (usual ?? text) : text;
}

/** What the form names, or would if it were sent. */
function affectedIn(form: Form, { editor }: Editing) {
  return editor.rows.flatMap(({ id, kind }) => {
    const impact = form.value(affectedField(id)) ?? '';
    return kind === 'group' || impact === '' ? [] : [{ monitor: id, impact }];
  });
}

function affectedField(monitor: string): string {
  return `affected.${monitor}`;
}

function reportPage(subject: EditedReport, state: FormState, document: string): PageAnswer {
  const { editing, report, cause } = subject;
  const { page, request } = editing;
  const path = `/status-pages/${page.id}/reports/${report?.id ?? 'new'}`;
  const action = report === undefined && cause ? `${path}?cause=${cause.id}` : path;
  return show({
    title: report?.title ?? `New post on ${page.name}`,
    place: 'status-pages',
    status: state.status,
    main: html`
      <div class="stack">
        ${heading({
          sentence: report?.title ?? 'New incident or announcement',
          below:
            report === undefined
              ? 'For degraded service, third-party problems and announcements.'
              : html`
                ${reportMark(report, request.now)} since ${request.times.moment(report.started_at)}
              `,
          trail: [...trail, { href: `/status-pages/${page.id}`, name: page.name }],
          actions:
            report !== undefined &&
            request.may(deleteStatusPageReport) &&
            html`
              <form method="post" action="${safeUrl(`${path}/delete`)}">
                <button class="button">${icon('delete')}Delete</button>
              </form>
            `,
        })}
        ${formSummary(state)}
        <form class="columns editor" method="post" action="${safeUrl(action)}">
          ${enterSaves}
          <div class="stack">
            <div class="card stack" data-refreshes>${fields(subject, state)}</div>
            <div class="actions">
              <button class="button button-main" name="act" value="save">
                ${icon('send')}${report === undefined ? 'Post' : 'Post update'}
              </button>
              ${
                report !== undefined &&
                html`
                  <button class="button" name="act" value="edit">Save without posting</button>
                `
              }
              ${linkButton(`/status-pages/${page.id}`, 'Cancel')}
            </div>
            ${updatesCard(subject)}
          </div>
          ${previewFrame(document)}
        </form>
      </div>
    `,
  });
}

function fields(subject: EditedReport, state: FormState): Html {
  const { editing, report, cause } = subject;
  const zone = editing.request.caller.organisation.time_zone;
  return html`
    ${textField({
      name: 'title',
      label: 'Title',
      state,
      required: true,
      autocomplete: 'off',
      placeholder: 'Slow checkout',
    })}
    ${choiceField({
      name: 'kind',
      label: 'Status',
      state,
      choices: updateKinds.flatMap((kind) => {
        const usual = cause?.usual.find((each) => each.kind === kind);
        const help = usual
          ? html`<span lang="${editing.page.language}">${usual.text}</span>`
          : kindHelp[kind];
        return cause && !usual ? [] : [{ value: kind, label: postKindWords[kind] ?? kind, help }];
      }),
    })}
    ${textArea({
      name: 'text',
      label: 'Message',
      state,
      rows: 4,
      required: report === undefined && cause === undefined,
      help: `${cause ? 'Default: the text above. ' : ''}${readersOf(editing.page, editing.editor.reachable)}`,
    })}
    ${affectedFields(editing, state)}
    <details>
      <summary>Start and end</summary>
      <div class="columns">
        ${textField({
          name: 'started_at',
          label: 'Started',
          state,
          type: 'datetime-local',
          required: false,
          help: report === undefined ? `Default: ${cause ? 'when it began' : 'now'}` : undefined,
        })}
        ${textField({
          name: 'ends_at',
          label: 'Ends',
          state,
          type: 'datetime-local',
          required: false,
          help: 'Default: when you post “Resolved”',
        })}
      </div>
      <p class="field-help">Time zone: ${zone}. Uptime figures do not change: they are measured.</p>
    </details>
  `;
}

function affectedFields({ editor }: Editing, state: FormState): Html | null {
  const monitors = editor.rows.filter(({ kind }) => kind === 'monitor');
  return monitors.length === 0
    ? null
    : html`
      <fieldset class="field affected-list">
        <legend>Affected services</legend>
        ${monitors.map(({ id, name }) =>
          selectField({
            name: affectedField(id),
            label: name,
            state,
            choices: [
              { value: '', label: 'Not affected' },
              ...impacts.map((value) => ({ value, label: impactWords[value] })),
            ],
          }),
        )}
      </fieldset>
    `;
}

function updatesCard({ editing, report }: EditedReport): Html | null {
  return report === undefined || report.updates.length === 0
    ? null
    : card(
        'posts',
        'Updates',
        null,
        html`
          <ul class="lines">
            ${report.updates.map(
              (update) => html`
                <li class="section-head">
                  <div>
                    ${postLine(update, editing.request.times)}
                    <p class="soft">${update.written_by}</p>
                  </div>
                </li>
              `,
            )}
          </ul>
        `,
      );
}

function formOfNew(cause: Cause | undefined): Form {
  const kind = cause && cause.resolved_at !== null ? 'resolved' : 'investigating';
  return formOf({ kind, ...(cause && { title: cause.title, ...affectedBy(cause) }) });
}

function affectedBy({ services }: Cause): Readonly<Record<string, string>> {
  return Object.fromEntries(
    services.map(({ monitor }) => [affectedField(monitor), 'major_outage']),
  );
}

async function created(subject: EditedReport): Promise<PageAnswer> {
  const { editing, cause } = subject;
  const { form, ask } = editing.request;
  await ask(createStatusPageReport, {
    page_id: editing.page.id,
    title: form.value('title') ?? '',
    kind: form.value('kind') ?? '',
    text: textIn(form, subject),
    affected: affectedIn(form, editing),
    ...timesIn(form),
    ...(cause && { cause: cause.id }),
  });
  return seeOther(`/status-pages/${editing.page.id}`, { said: 'Posted.' });
}

function timesIn(form: Form): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['started_at', 'ends_at'].flatMap((name) => {
      const value = form.value(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** Services that joined the cause are affected too. */
function formOfReport({ title, affected, updates }: Report, cause: Cause | undefined): Form {
  return formOf({
    title,
    kind: cause && cause.resolved_at !== null ? 'resolved' : nextKind(updates[0]?.kind),
    ...(cause && affectedBy(cause)),
    ...Object.fromEntries(affected.map(({ monitor, impact }) => [affectedField(monitor), impact])),
  });
}

/** As the last update says it; what was investigated is usually identified next. */
function nextKind(last = 'investigating'): string {
  return last === 'investigating' ? 'identified' : last;
}

async function updated(subject: EditedReport, report: Report): Promise<PageAnswer> {
  const { editing } = subject;
  const { form, ask } = editing.request;
  const of = { page_id: editing.page.id, report_id: report.id };
  const affected = affectedIn(form, editing);
  const title = form.value('title') ?? '';
  const isPost = form.value('act') !== 'edit';
  // First what may be repeated: nobody is notified of it.
  await ask(updateStatusPageReport, { ...of, title, affected, ...timesIn(form) });
  if (isPost) {
    const [kind, text] = [form.value('kind') ?? '', textIn(form, subject)];
    await ask(addStatusPageReportUpdate, { ...of, kind, text });
  }
  return seeOther(`/status-pages/${editing.page.id}`, { said: isPost ? 'Posted.' : 'Saved.' });
}
