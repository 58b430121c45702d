import type { OutputOf } from '../../../shared/api/operation.ts';
import { listDeletedMonitors, restoreMonitor } from '../../../shared/api/trash.ts';
import { heading, linkButton, moreLink, nothing } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { attempt, type FormState, formSummary, freshForm } from '../../web/forms.ts';
import { type Html, html, icon, query } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { purgeMonitor } from '../contract.ts';
import { kindWord } from './monitor-table.ts';

const dayMs = 86_400_000;

const list = forMembers.get('/monitors/trash', (request) => trashPage(request));

async function trashPage(
  request: MembersRequest,
  refused: FormState = freshForm(formOf({})),
): Promise<PageAnswer> {
  const { cursor } = request.query;
  const { items, next_cursor } = await request.ask(
    listDeletedMonitors,
    cursor === undefined ? {} : { cursor },
  );
  return show({
    title: 'Trash',
    place: 'monitors',
    live: true,
    status: refused.status,
    main: html`
      ${heading({
        sentence: 'Trash',
        below: items.length > 0 && 'Deleted monitors are kept for 7 days, with history.',
        trail: [{ href: '/', name: 'Monitors' }],
      })}
      ${formSummary(refused)}
      ${
        items.length === 0
          ? nothing(
              'delete',
              'The trash is empty. Deleted monitors are kept here for 7 days, with history.',
              linkButton('/', 'Show monitors'),
            )
          : html`
            <div class="table-card">
              <table class="cards">
                <caption class="unseen">Deleted monitors</caption>
                <thead>
                  <tr>
                    <th scope="col">Monitor</th>
                    <th scope="col">Deleted</th>
                    <th scope="col" class="number">Days left</th>
                    ${
                      request.may(restoreMonitor) &&
                      html`
                        <th scope="col"><span class="unseen">Actions</span></th>
                      `
                    }
                  </tr>
                </thead>
                <tbody>${items.map((each) => rowOf(each, request))}</tbody>
              </table>
            </div>
          `
      }
      ${next_cursor && moreLink(`/monitors/trash${query({ cursor: next_cursor })}`, 'Show more')}
    `,
  });
}

type Deleted = OutputOf<typeof listDeletedMonitors>['items'][number];

function rowOf(deleted: Deleted, { times, now, may }: MembersRequest): Html {
  const { id, name, type, target, deleted_at, deleted_by } = deleted;
  return html`
    <tr id="deleted-${id}">
      <th scope="row" data-label="Monitor">
        ${name}
        <span class="cell-more">${kindWord(type)}${target !== '' && `, ${target}`}</span>
      </th>
      <td data-label="Deleted">${times.moment(deleted_at)} by ${deleted_by}</td>
      <td data-label="Days left" class="number">${daysLeft(deleted, now)}</td>
      ${
        may(restoreMonitor) &&
        html`
          <td>
            <div class="actions">
              <form method="post" action="/monitors/trash/${id}/restore">
                <button class="button" aria-label="Restore ${name}">${icon('again')}Restore</button>
              </form>
              <details>
                <summary class="button button-quiet" aria-label="Delete ${name} for ever">
                  Delete permanently
                </summary>
                <form class="stack" method="post" action="/monitors/trash/${id}/delete">
                  <p>Its results, incidents and uptime are deleted now. This cannot be undone.</p>
                  <button class="button button-danger">${icon('delete')}Delete permanently</button>
                </form>
              </details>
            </div>
          </td>
        `
      }
    </tr>
  `;
}

/** Begun days count: what is deleted for ever in an hour has one day left. */
function daysLeft({ deleted_for_ever_at }: Deleted, now: number): string {
  const days = Math.max(0, Math.ceil((Date.parse(deleted_for_ever_at) - now) / dayMs));
  return days === 1 ? '1 day' : `${days} days`;
}

const restored = forMembers.post('/monitors/trash/:monitor_id/restore', async (request) => {
  const { form, ask, path } = request;
  const tried = await attempt(form, () => ask(restoreMonitor, path), []);
  if ('refused' in tried) return trashPage(request, tried.refused);
  const { id, name } = tried.done;
  return seeOther(`/monitors/${id}`, { said: `${name} restored.` });
});

const purged = forMembers.post('/monitors/trash/:monitor_id/delete', async ({ ask, path }) => {
  await ask(purgeMonitor, path);
  return seeOther('/monitors/trash', { said: 'Deleted for ever.' });
});

export const trashPages: readonly Page[] = [list, restored, purged];
