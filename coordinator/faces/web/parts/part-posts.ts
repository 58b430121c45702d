import type { listIncidentPages } from '../../../../shared/api/inner/inner-status-pages.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { createStatusPagePost } from '../../../../shared/api/status-pages.ts';
import { type Html, html } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import type { MembersRequest } from '../web-page.ts';
import type { Times } from '../web-times.ts';

export type IncidentPage = OutputOf<typeof listIncidentPages>['items'][number];

/** What was posted on a status page, as its writers see it. */

export const postKindWords: Readonly<Record<string, string>> = {
  investigating: 'Investigating',
  identified: 'Identified',
  monitoring: 'Monitoring',
  resolved: 'Resolved',
};

type Post = { readonly kind: string; readonly text: string; readonly written_at: string };

export const postLine = ({ kind, text, written_at }: Post, times: Times): Html =>
  html`<p class="post-line"><b>${postKindWords[kind] ?? kind}</b> <span class="post-at">${times.moment(written_at)}</span><span class="post-text">${text}</span></p>`;

/** Where an audience reads of an incident, and what it read last. */
export const incidentPages = (incident: string, pages: readonly IncidentPage[], { may, times }: MembersRequest): Html | null =>
  pages.length === 0
    ? null
    : html`<section class="card stack" id="told"><h2>On status pages</h2><ul class="told-list">${pages.map(
        ({ id, name, enabled, display_name, posts }) =>
          html`<li class="told-incident"><div><p class="told-title"><a href="/status-pages/${id}">${name}</a></p><p class="soft">${
            enabled ? html`As ${display_name}` : 'Switched off'
          }${posts[0] === undefined && '; nothing was posted'}</p>${posts[0] !== undefined && postLine(posts[0], times)}</div>${
            may(createStatusPagePost) &&
            html`<a class="button" href="/status-pages/${id}/incidents/${incident}">${icon('note')}Post<span class="unseen"> on ${name}</span></a>`
          }</li>`,
      )}</ul></section>`;
