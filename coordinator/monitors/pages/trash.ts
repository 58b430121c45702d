import type { OutputOf } from '../../../shared/api/operation.ts';
import { listDeletedMonitors, restoreMonitor } from '../../../shared/api/trash.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { confirm } from '../../web/confirm.ts';
import { heading, linkButton, moreLink, nothing, rowAct } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  attempt,
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
} from '../../web/forms.ts';
import { html, query } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { acts, number, stacked, table } from '../../web/tables.ts';
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
        sentence: sentenceOf(items.length, next_cursor !== null),
        below: items.length > 0 && 'Deleted monitors are kept for 7 days, with their history.',
        trail: [{ href: '/', name: 'Monitors' }],
      })}
      ${formSummary(refused)}
      ${
        items.length === 0
          ? nothing(
              'delete',
              'Deleted monitors are kept here for 7 days, with their history.',
              linkButton('/', 'Show monitors'),
            )
          : table(
              items.map((each) => rowOf(each, request)),
              'Deleted monitors',
            )
      }
      ${next_cursor && moreLink(`/monitors/trash${query({ cursor: next_cursor })}`, 'Show more')}
    `,
  });
}

function sentenceOf(count: number, isMore: boolean): string {
  if (count === 0) return 'The trash is empty';
  return `${isMore ? 'More than ' : ''}${count === 1 ? 'One monitor' : `${count} monitors`} in the trash`;
}

type Deleted = OutputOf<typeof listDeletedMonitors>['items'][number];

function rowOf(deleted: Deleted, { times, now, may }: MembersRequest) {
  const { id, name, type, target, deleted_at, deleted_by } = deleted;
  return {
    id: `deleted-${id}`,
    Monitor: stacked(html`<b>${name}</b>`, [kindWord(type), target !== '' && ` · ${target}`]),
    Deleted: html`${times.moment(deleted_at)} by ${deleted_by}`,
    'Time left': number(daysLeft(deleted, now)),
    ...(may(restoreMonitor) && {
      'Restore or delete': acts(html`
        <div class="actions">
          <form method="post" action="/monitors/trash/${id}/restore">
            ${rowAct({ symbol: 'again', words: 'Restore', of: name })}
          </form>
          ${rowAct({
            symbol: 'delete',
            words: 'Delete permanently',
            of: name,
            href: `/monitors/trash/${id}/delete`,
          })}
        </div>
      `),
    }),
  };
}

/** Begun days count: what is deleted for ever in an hour has one day left. */
function daysLeft({ deleted_for_ever_at }: Deleted, now: number): string {
  const days = Math.max(0, Math.ceil((Date.parse(deleted_for_ever_at) - now) / dayMs));
  return days === 1 ? '1 day left' : `${days} days left`;
}

const restored = forMembers.post('/monitors/trash/:monitor_id/restore', async (request) => {
  const { form, ask, path } = request;
  const tried = await attempt(form, () => ask(restoreMonitor, path), []);
  if ('refused' in tried) return trashPage(request, tried.refused);
  const { id, name } = tried.done;
  return seeOther(`/monitors/${id}`, { said: `${name} restored.` });
});

const purgePages = forMembers.form('/monitors/trash/:monitor_id/delete', (request) => {
  refuseUnlessMay(request, restoreMonitor);
  return {
    shown: async (state) =>
      confirm({
        state,
        title: `Delete ${await deletedName(request)} permanently`,
        place: 'monitors',
        below: 'Its results, incidents and uptime are deleted now. You cannot undo this.',
        trail: [
          { href: '/', name: 'Monitors' },
          { href: '/monitors/trash', name: 'Trash' },
        ],
        act: 'Delete permanently',
      }),
    act: async () => {
      await request.ask(purgeMonitor, request.path);
      return seeOther('/monitors/trash', { said: 'Deleted permanently.' });
    },
  };
});

/** @throws Refusal `monitor_not_found` */
async function deletedName({ ask, path }: MembersRequest): Promise<string> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: OutputOf<typeof listDeletedMonitors> = await ask(listDeletedMonitors, {
      limit: 200,
      ...(cursor !== '' && { cursor }),
    });
    const found = page.items.find(({ id }) => id === path.monitor_id);
    if (found) return found.name;
    cursor = page.next_cursor;
  }
  throw new Refusal('monitor_not_found', 'Monitor not found.');
}

export const trashPages: readonly Page[] = [list, restored, ...purgePages];
