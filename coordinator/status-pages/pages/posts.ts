import type { OutputOf } from '../../../shared/api/operation.ts';
import { createStatusPagePost, deleteStatusPagePost } from '../../../shared/api/status-pages.ts';
import { durationText } from '../../../shared/base/time.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { formOf, inputOf } from '../../web/form-data.ts';
import {
  attempt,
  choiceField,
  type FormState,
  formSummary,
  freshForm,
  textArea,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import { getStatusPageIncident, type listIncidentPages } from '../contract.ts';
import { card, type Editing, trail } from './cards.ts';

export type IncidentPage = OutputOf<typeof listIncidentPages>['items'][number];

/** Posts on a status page, as their authors see them. */

export const postKindWords: Readonly<Record<string, string>> = {
  investigating: 'Investigating',
  identified: 'Identified',
  monitoring: 'Monitoring',
  resolved: 'Resolved',
};

type Post = { readonly kind: string; readonly text: string; readonly written_at: string };

export const postLine = ({ kind, text, written_at }: Post, times: Times): Html =>
  html`
    <p class="post-line">
      <b>${postKindWords[kind] ?? kind}</b> <span class="post-at">${times.moment(written_at)}</span>
      <span class="post-text">${text}</span>
    </p>
  `;

/** The pages that show an incident, and the last post on each. */
export const incidentPages = (
  incident: string,
  pages: readonly IncidentPage[],
  { may, times }: MembersRequest,
): Html | null =>
  pages.length === 0
    ? null
    : html`
      <section class="card stack" id="told">
        <h2>On status pages</h2>
        <ul class="told-list">
          ${pages.map(
            ({ id, name, enabled, display_name, posts }) =>
              html`
                <li class="told-incident">
                  <div>
                    <p class="told-title"><a href="/status-pages/${id}">${name}</a></p>
                    <p class="soft">
                      ${enabled ? html`As ${display_name}` : 'Switched off'}
                      ${posts[0] === undefined && '; nothing was posted'}
                    </p>
                    ${posts[0] !== undefined && postLine(posts[0], times)}
                  </div>
                  ${
                    may(createStatusPagePost) &&
                    html`
                      <a class="button" href="/status-pages/${id}/incidents/${incident}">
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

/** The posts of a page about an incident. */

type PostedIncident = OutputOf<typeof getStatusPageIncident>;

export const incidentsCard = ({ page, editor: { incidents, waiting }, request }: Editing): Html => {
  const { times, may } = request;
  const rows = incidents.map(({ id, display_name, started_at, resolved_at, posts }) => {
    const last = posts[0];
    const state = resolved_at === null ? 'down' : 'up';
    return html`
      <li class="told-incident">
        <div>
          <p class="told-title">
            <span class="state state-${state}">
              ${icon(state)}
              ${resolved_at === null ? 'Down' : 'Over'}
            </span>
            <a href="/incidents/${id}">${display_name}</a>
          </p>
          <p class="soft">
            ${
              resolved_at === null
                ? html`since ${times.moment(started_at)}`
                : html`
                  ${times.moment(started_at)},
                  for ${durationText(Date.parse(resolved_at) - Date.parse(started_at))}
                `
            }
            ${last === undefined && '; nothing was posted'}
          </p>
          ${last !== undefined && postLine(last, times)}
        </div>
        ${
          may(createStatusPagePost) &&
          html`
            <a class="button" href="/status-pages/${page.id}/incidents/${id}">
              ${icon('note')}Post<span class="unseen"> about ${display_name}</span>
            </a>
          `
        }
      </li>
    `;
  });
  const mailed =
    page.subscribers === 1
      ? 'One subscriber is mailed.'
      : `${page.subscribers} subscribers are mailed.`;
  return card(
    'told',
    'What it tells of',
    html`
      Outages that are confirmed, of the last two
      weeks. ${page.subscribers === 0 ? 'Nobody subscribes to it yet' : mailed}
      ${
        waiting > 0
          ? `${page.subscribers === 0 ? '; ' : ' '}${waiting} ${waiting === 1 ? 'was' : 'were'} asked and have not answered`
          : ''
      }${(page.subscribers === 0 || waiting > 0) && '.'}
    `,
    incidents.length === 0
      ? html`<p class="soft">Nothing: no outage in two weeks.</p>`
      : html`<ul class="told-list">${rows}</ul>`,
  );
};

const postsOf = (
  { page, incident }: PostedIncident,
  { times, may }: MembersRequest,
): Html | null =>
  incident.posts.length === 0
    ? null
    : card(
        'posts',
        'Posted so far',
        null,
        html`
          <ul class="told-list">
            ${incident.posts.map(
              (post) =>
                html`
                  <li class="told-incident">
                    <div>${postLine(post, times)}<p class="soft">${post.written_by}</p></div>
                    ${
                      may(deleteStatusPagePost) &&
                      html`
                        <form
                          method="post"
                          action="/status-pages/${page.id}/incidents/${incident.id}/posts/${post.id}/delete"
                        >
                          <button class="button button-quiet">
                            ${icon('delete')}Take
                            away<span class="unseen">
                              ${' '}what was posted ${times.moment(post.written_at)}
                            </span>
                          </button>
                        </form>
                      `
                    }
                  </li>
                `,
            )}
          </ul>
        `,
      );

const postPage = (request: MembersRequest, told: PostedIncident, state: FormState): PageAnswer => {
  const { page, incident, usual } = told;
  const { times } = request;
  return show({
    title: `Post about ${incident.display_name}`,
    place: 'status-pages',
    status: state.status,
    main: html`
      <div class="post-page">
        ${heading({
          sentence: html`Tell what is happening to ${incident.display_name}.`,
          below: html`
            ${
              incident.resolved_at === null
                ? html`Down since ${times.moment(incident.started_at)}.`
                : html`It was down from ${times.moment(incident.started_at)}, and is over.`
            } It stands on ${page.name}
            ${
              page.subscribers > 0
                ? `, and ${page.subscribers} ${page.subscribers === 1 ? 'subscriber is' : 'subscribers are'} mailed`
                : ''
            }. <a href="/incidents/${incident.id}">What we know</a>
          `,
          trail: [...trail, { href: `/status-pages/${page.id}`, name: page.name }],
        })}
        ${formSummary(state)}
        <div class="post-columns">
          <form class="form card" method="post">
            ${choiceField({
              name: 'kind',
              label: 'How far it is',
              state,
              choices: usual.map(({ kind, text }) => ({
                value: kind,
                label: postKindWords[kind] ?? kind,
                help: html`<span lang="${page.language}">${text}</span>`,
              })),
            })}
            ${textArea({
              name: 'text',
              label: 'In your own words',
              state,
              rows: 4,
              required: false,
              help: 'Left empty, the words above are posted. What stands here is read by everybody who sees the page.',
            })}
            <div class="actions">
              <button class="button button-main">${icon('send')}Post it</button>
              ${linkButton(`/status-pages/${page.id}`, 'Leave it')}
            </div>
          </form>
          ${postsOf(told, request)}
        </div>
      </div>
    `,
  });
};

const read = ({ ask, path: { page_id, incident_id } }: MembersRequest): Promise<PostedIncident> =>
  ask(getStatusPageIncident, { page_id, incident_id });

/** The usual successor of the last post. */
const nextKind = ({ incident: { posts, resolved_at }, usual }: PostedIncident): string => {
  if (resolved_at !== null) return 'resolved';
  const last = usual.findIndex(({ kind }) => kind === posts[0]?.kind);
  // While it is down, no kind is suggested that says it works again.
  return usual[Math.min(last + 1, 1)]?.kind ?? 'investigating';
};

const getPage: Page = {
  method: 'GET',
  path: '/status-pages/:page_id/incidents/:incident_id',
  needs: 'member',
  answer: async (request) => {
    const told = await read(request);
    return postPage(request, told, freshForm(formOf({ kind: nextKind(told) })));
  },
};

const posted: Page = {
  method: 'POST',
  path: '/status-pages/:page_id/incidents/:incident_id',
  needs: 'member',
  answer: async (request) => {
    const { ask, form, path } = request;
    const { page_id, incident_id } = path;
    const told = await read(request);
    const input = { kind: '', ...inputOf(form), page_id, incident_id };
    const tried = await attempt(form, () => ask(createStatusPagePost, input), ['kind', 'text']);
    if ('refused' in tried) return postPage(request, told, tried.refused);
    return seeOther(`/status-pages/${page_id}`, { said: `It is posted on ${told.page.name}.` });
  },
};

const takenAway: Page = {
  method: 'POST',
  path: '/status-pages/:page_id/incidents/:incident_id/posts/:post_id/delete',
  needs: 'member',
  answer: async ({ ask, path: { page_id, incident_id, post_id } }) => {
    await ask(deleteStatusPagePost, { page_id, post_id });
    return seeOther(`/status-pages/${page_id}/incidents/${incident_id}`, {
      said: 'It is off the page; what was mailed stays in mailboxes.',
    });
  },
};

export const postPages: readonly Page[] = [getPage, posted, takenAway];
