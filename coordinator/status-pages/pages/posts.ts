import type { OutputOf } from '../../../shared/api/operation.ts';
import {
  createStatusPageReport,
  updateStatusPageReport,
} from '../../../shared/api/status-page-reports.ts';
import { createStatusPagePost, deleteStatusPagePost } from '../../../shared/api/status-pages.ts';
import { durationText } from '../../../shared/base/time.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { formOf, inputOf } from '../../web/form-data.ts';
import {
  choiceField,
  enterSaves,
  type FormState,
  formSummary,
  freshForm,
  textArea,
} from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import { getStatusPageIncident, type listIncidentPages, previewStatusPage } from '../contract.ts';
import {
  card,
  type Editing,
  postKindWords,
  postLine,
  type Report,
  readersOf,
  reportMark,
  trail,
} from './cards.ts';
import { previewFrame } from './preview.ts';

export type IncidentPage = OutputOf<typeof listIncidentPages>['items'][number];

/** The pages that show an incident, and the last post on each. */
export function incidentPages(
  incident: string,
  pages: readonly IncidentPage[],
  { may, times }: MembersRequest,
): Html | null {
  return pages.length === 0
    ? null
    : html`
      <section class="card stack" id="told">
        <h2>On status pages</h2>
        <ul class="lines">
          ${pages.map(
            ({ id, name, enabled, display_name, posts, cause }) =>
              html`
                <li class="section-head">
                  <div>
                    <p><a href="/status-pages/${id}">${name}</a></p>
                    <p class="soft">
                      ${enabled ? html`Shown as “${display_name}”` : 'Off'}
                      ${posts[0] === undefined && ' · no posts'}
                    </p>
                    ${posts[0] !== undefined && postLine(posts[0], times)}
                  </div>
                  ${
                    may(createStatusPagePost) &&
                    html`
                      <a
                        class="button"
                        href="${safeUrl(cause === null ? `/status-pages/${id}/incidents/${incident}` : reportHref(id, cause))}"
                      >
                        ${icon('note')}Post<span class="unseen"> on ${name}</span>
                      </a>
                    `
                  }
                </li>
              `,
          )}
        </ul>
      </section>
    `;
}

/** One report tells of all its services. */
function reportHref(page: string, { id, report }: NonNullable<IncidentPage['cause']>): string {
  return `/status-pages/${page}/reports/${report ?? `new?cause=${id}`}`;
}

/** Whether something that visitors see is going on: then posting comes first. */
export function isTroubled({ editor, request: { now } }: Editing): boolean {
  const { incidents, reports, causes } = editor;
  return (
    [...incidents, ...causes].some(({ resolved_at }) => resolved_at === null) ||
    reports.some(({ ends_at }) => ends_at === null || Date.parse(ends_at) > now)
  );
}

export function incidentsCard(editing: Editing): Html {
  const { page, request } = editing;
  const lines = linesOf(editing);
  // While something is open, what is over waits for a click.
  const isAll = request.query.resolved !== undefined || lines.every(({ isOpen }) => !isOpen);
  const shown = lines.filter(({ isOpen }) => isAll || isOpen);
  return card(
    'told',
    'Incidents',
    'Confirmed outages and your own posts of the last two weeks.',
    html`
      ${
        lines.length === 0
          ? html`<p class="soft">No incidents in the last two weeks</p>`
          : html`<ul class="lines">${shown.map(({ item }) => item)}</ul>`
      }
      ${
        request.may(createStatusPageReport) &&
        html`
          <p class="actions">
            ${linkButton(`/status-pages/${page.id}/reports/new`, 'New incident or announcement', {
              symbol: 'add',
            })}
            ${
              shown.length < lines.length &&
              linkButton(`/status-pages/${page.id}?resolved`, 'Show resolved')
            }
          </p>
        `
      }
    `,
  );
}

/** Outages that checks confirmed, and what people wrote themselves: open ones first. */
function linesOf({
  page,
  editor: { incidents, reports, causes },
  request,
}: Editing): readonly { readonly isOpen: boolean; readonly item: Html }[] {
  const { times, may, now } = request;
  const [mayPost, mayReport] = [may(createStatusPagePost), may(updateStatusPageReport)];
  const measured = incidents.map(({ id, display_name, started_at, resolved_at, posts }) => {
    return {
      isOpen: resolved_at === null,
      at: started_at,
      line: {
        mark: measuredMark(resolved_at),
        title: html`<a href="/incidents/${id}">${display_name}</a>`,
        when: span(started_at, resolved_at, times),
        last: posts[0],
        href: mayPost ? `/status-pages/${page.id}/incidents/${id}` : null,
        about: display_name,
      },
    };
  });
  const together = causes
    .filter(({ report }) => report === null)
    .map((cause) => {
      const { started_at, resolved_at, services } = cause;
      const title = `One cause affects ${services.length} services`;
      return {
        isOpen: resolved_at === null,
        at: started_at,
        line: {
          mark: measuredMark(resolved_at),
          title: html`${title}`,
          when: html`
            ${services.map(({ name }) => name).join(', ')}, ${span(started_at, resolved_at, times)}
          `,
          last: undefined,
          href: mayReport ? reportHref(page.id, cause) : null,
          about: `${services.length} services`,
        },
      };
    });
  const written = reports.map((report) => {
    const { id, title, started_at, ends_at, updates } = report;
    const isUp = causes.some((cause) => cause.report === id && cause.resolved_at !== null);
    const over = ends_at !== null && Date.parse(ends_at) <= now ? ends_at : null;
    const href = `/status-pages/${page.id}/reports/${id}`;
    return {
      isOpen: over === null,
      at: started_at,
      line: {
        mark: reportMark(report, now),
        title: mayReport ? html`<a href="${safeUrl(href)}">${title}</a>` : html`${title}`,
        when: html`
          ${span(started_at, over, times)}${over === null && isUp && ' · All its services are up again'}
        `,
        last: updates[0],
        href: mayReport ? href : null,
        about: title,
      },
    };
  });
  return [...measured, ...together, ...written]
    .toSorted((a, b) => Number(b.isOpen) - Number(a.isOpen) || b.at.localeCompare(a.at))
    .map(({ isOpen, line: of }) => ({ isOpen, item: line(of, times) }));
}

function measuredMark(resolved: string | null): Html {
  const state = resolved === null ? 'down' : 'up';
  return html`
    <span class="state state-${state}">${icon(state)}${resolved === null ? 'Down' : 'Resolved'}</span>
  `;
}

function span(from: string, to: string | null, times: Times): Html {
  return to === null
    ? html`since ${times.moment(from)}`
    : html`${times.moment(from)}, for ${durationText(Date.parse(to) - Date.parse(from))}`;
}

type Line = {
  readonly mark: Html;
  readonly title: Html;
  readonly when: Html;
  readonly last: IncidentPage['posts'][number] | Report['updates'][number] | undefined;
  /** Where to post about it, for those who may. */
  readonly href: string | null;
  readonly about: string;
};

function line({ mark, title, when, last, href, about }: Line, times: Times): Html {
  return html`
  <li class="section-head">
    <div>
      <p>
        ${mark} ${title} <span class="soft">${when}${last === undefined && ' · no posts'}</span>
      </p>
      ${last !== undefined && postLine(last, times)}
    </div>
    ${
      href !== null &&
      html`
        <a class="button" href="${safeUrl(href)}">
          ${icon('note')}Post<span class="unseen"> about ${about}</span>
        </a>
      `
    }
  </li>
`;
}

const newPostPages = forMembers.form(
  '/status-pages/:page_id/incidents/:incident_id',
  async (request) => {
    const { ask, form, path } = request;
    const { page_id, incident_id } = path;
    const told = await ask(getStatusPageIncident, { page_id, incident_id });
    const shown = (state: FormState) => postPage(request, told, state);
    return {
      fresh: () => formOf({ kind: nextKind(told) }),
      shown,
      fields: ['kind', 'text'],
      act: async () => {
        if (form.value('act') === 'look') return shown(freshForm(form));
        await ask(createStatusPagePost, { kind: '', ...inputOf(form), page_id, incident_id });
        return seeOther(`/status-pages/${page_id}`, { said: `Posted on ${told.page.name}.` });
      },
    };
  },
);

type PostedIncident = OutputOf<typeof getStatusPageIncident>;

/** The form, with the page as its visitors will read it beside it. */
async function postPage(
  request: MembersRequest,
  told: PostedIncident,
  state: FormState,
): Promise<PageAnswer> {
  const { page, incident, usual, reachable } = told;
  const { times, ask } = request;
  const kind = state.form.value('kind') ?? '';
  const text = (state.form.value('text') ?? '').trim();
  const suggested = usual.find((each) => each.kind === kind)?.text;
  const post =
    suggested === undefined
      ? {}
      : { post: { incident: incident.id, kind, text: text === '' ? suggested : text } };
  const { html: document } = await ask(previewStatusPage, { page_id: page.id, ...post });
  return show({
    title: `Post about ${incident.display_name}`,
    place: 'status-pages',
    status: state.status,
    main: html`
      <div class="stack">
        ${heading({
          sentence: html`Post about ${incident.display_name}`,
          below: html`
            ${
              incident.resolved_at === null
                ? html`Down since ${times.moment(incident.started_at)}.`
                : html`
                  Down from ${times.moment(incident.started_at)} to
                  ${times.moment(incident.resolved_at)}.
                `
            } ${readersOf(page, reachable)}${' '}
            <a href="/incidents/${incident.id}">View incident</a>
          `,
          trail: [...trail, { href: `/status-pages/${page.id}`, name: page.name }],
        })}
        ${formSummary(state)}
        <form class="columns editor" method="post">
          ${enterSaves}
          <div class="stack">
            <div class="card stack" data-refreshes>
              ${choiceField({
                name: 'kind',
                label: 'Status',
                state,
                choices: usual.map(({ kind, text }) => ({
                  value: kind,
                  label: postKindWords[kind] ?? kind,
                  help: html`<span lang="${page.language}">${text}</span>`,
                })),
              })}
              ${textArea({
                name: 'text',
                label: 'Message',
                state,
                rows: 4,
                required: false,
                help: 'Default: the text above. Visible to every visitor.',
              })}
              <div class="actions">
                <button class="button button-main" name="act" value="save">
                  ${icon('send')}Post
                </button>
                ${linkButton(`/status-pages/${page.id}`, 'Cancel')}
              </div>
            </div>
            ${postsOf(told, request)}
          </div>
          ${previewFrame(document)}
        </form>
      </div>
    `,
  });
}

function postsOf({ page, incident }: PostedIncident, { times, may }: MembersRequest): Html | null {
  return incident.posts.length === 0
    ? null
    : card(
        'posts',
        'Posts',
        null,
        html`
          <ul class="lines">
            ${incident.posts.map(
              (post) =>
                html`
                  <li class="section-head">
                    <div>${postLine(post, times)}<p class="soft">${post.written_by}</p></div>
                    ${
                      may(deleteStatusPagePost) &&
                      html`
                        <button
                          class="button button-quiet"
                          formaction="/status-pages/${page.id}/incidents/${incident.id}/posts/${post.id}/delete"
                          formnovalidate
                        >
                          ${icon('delete')}Delete<span class="unseen">
                            ${' '}the post of ${times.moment(post.written_at)}
                          </span>
                        </button>
                      `
                    }
                  </li>
                `,
            )}
          </ul>
        `,
      );
}

/** The usual successor of the last post. */
function nextKind({ incident: { posts, resolved_at }, usual }: PostedIncident): string {
  if (resolved_at !== null) return 'resolved';
  const last = usual.findIndex(({ kind }) => kind === posts[0]?.kind);
  // While it is down, no kind is suggested that says it works again.
  return usual[Math.min(last + 1, 1)]?.kind ?? 'investigating';
}

const takenAway = forMembers.post(
  '/status-pages/:page_id/incidents/:incident_id/posts/:post_id/delete',
  async ({ ask, path: { page_id, incident_id, post_id } }) => {
    await ask(deleteStatusPagePost, { page_id, post_id });
    return seeOther(`/status-pages/${page_id}/incidents/${incident_id}`, {
      said: 'Post deleted. What was sent to subscribers stays with them.',
    });
  },
);

export const postPages: readonly Page[] = [...newPostPages, takenAway];
