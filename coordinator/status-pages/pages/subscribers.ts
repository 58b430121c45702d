import type { OutputOf } from '../../../shared/api/operation.ts';
import {
  getStatusPage,
  getStatusPageSubscribers,
  listStatusPageSubscribers,
  removeStatusPageSubscriber,
} from '../../../shared/api/status-pages.ts';
import { heading, linkButton, moreLink, nothing, rowAct } from '../../web/elements.ts';
import { refuseUnlessMay } from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { forMembers, type Page, seeOther, show } from '../../web/page.ts';
import { acts, stepTable } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import { subscribersText, trail } from './cards.ts';

/** Who is notified about a status page, for those who may change it. */

const list = forMembers.get('/status-pages/:page_id/subscribers', async (request) => {
  refuseUnlessMay(request, listStatusPageSubscribers);
  const { ask, path, query, times } = request;
  const { page_id } = path;
  const [page, { confirmed, waiting }, { items, next_cursor }] = await Promise.all([
    ask(getStatusPage, { page_id }),
    ask(getStatusPageSubscribers, { page_id }),
    ask(listStatusPageSubscribers, { page_id, limit: 100, ...query }),
  ]);
  const { id, name } = page;
  return show({
    title: `Subscribers of ${name}`,
    place: 'status-pages',
    main: html`
        ${heading({
          sentence: subscribersText(confirmed, waiting),
          below:
            'They are notified of incidents, updates and announcements on this page. Each of them can unsubscribe by a link.',
          trail: [...trail, { href: `/status-pages/${id}`, name }],
        })}
        ${
          items.length === 0
            ? nothing(
                'mail',
                'No subscribers yet. Visitors subscribe on the page itself, by e-mail or webhook.',
                linkButton(`/status-pages/${id}`, 'Open the page’s editor'),
              )
            : stepTable(items.map((each) => rowOf(id, each, times)))
        }
        ${
          next_cursor !== null &&
          moreLink(
            `/status-pages/${id}/subscribers?cursor=${encodeURIComponent(next_cursor)}`,
            'More',
          )
        }
      `,
  });
});

type Subscriber = OutputOf<typeof listStatusPageSubscribers>['items'][number];

function rowOf(page: string, each: Subscriber, times: Times) {
  const { id, address, kind } = each;
  return {
    id: `subscriber-${id}`,
    State: stateOf(each, times),
    Address: html`<b>${address}</b>`,
    By: kind === 'email' ? 'E-mail' : 'Webhook',
    Since: times.moment(each.confirmed_at ?? each.asked_at),
    Remove: acts(html`
      <form method="post" action="/status-pages/${page}/subscribers/${id}/remove">
        ${rowAct({ symbol: 'delete', words: 'Remove', of: address })}
      </form>
    `),
  };
}

function stateOf({ confirmed_at, failing_since, off_at }: Subscriber, times: Times): Html {
  if (off_at !== null)
    return html`
      <span class="state state-paused">
        ${icon('paused')}Switched off after failures, ${times.ago(off_at)}
      </span>
    `;
  if (confirmed_at === null)
    return html`<span class="state state-pending">${icon('pending')}Not confirmed yet</span>`;
  return failing_since === null
    ? html`<span class="state state-up">${icon('up')}Subscribed</span>`
    : html`
      <span class="state state-verifying">
        ${icon('verifying')}Failing since ${times.moment(failing_since)}
      </span>
    `;
}

const removed = forMembers.post(
  '/status-pages/:page_id/subscribers/:subscriber_id/remove',
  async (request) => {
    refuseUnlessMay(request, removeStatusPageSubscriber);
    const { page_id = '', subscriber_id } = request.path;
    await request.ask(removeStatusPageSubscriber, { page_id, subscriber_id });
    return seeOther(`/status-pages/${page_id}/subscribers`, { said: 'Subscriber removed.' });
  },
);

export const subscriberPages: readonly Page[] = [list, removed];
