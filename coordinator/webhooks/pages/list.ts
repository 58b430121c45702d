import { createWebhook, listWebhooks } from '../../../shared/api/webhooks.ts';
import { heading, linkButton, moreLink } from '../../web/elements.ts';
import { type Html, html, query } from '../../web/html.ts';
import { type MembersRequest, type Page, show } from '../../web/page.ts';
import { eventsText, type Webhook, webhookMark, webhookName, webhookTrail } from './parts.ts';

/** The organisation's webhooks, oldest first. */
export const webhooksPage: Page = {
  method: 'GET',
  path: '/webhooks',
  needs: 'member',
  answer: async (request) => {
    const { ask, may, query: asked } = request;
    const { items, next_cursor } = await ask(
      listWebhooks,
      asked.cursor === undefined ? {} : { cursor: asked.cursor },
    );
    return show({
      title: 'Webhooks',
      place: 'tokens',
      main: html`
        ${heading({
          sentence: 'Webhooks',
          below: html`
            Send every event to your programs as it comes, signed and with retries. For alerts, add
            a <a href="/alerts">channel</a>.
          `,
          actions:
            may(createWebhook) &&
            linkButton('/webhooks/new', 'New webhook', { main: true, symbol: 'add' }),
          trail: webhookTrail.slice(0, 1),
        })}
        ${
          items.length === 0
            ? html`<p class="nothing card">No webhooks yet</p>`
            : html`
              <div class="table-card">
                <table class="cards">
                  <thead>
                    <tr>
                      <th scope="col">State</th>
                      <th scope="col">Webhook</th>
                      <th scope="col">Events</th>
                      <th scope="col" class="number">Last delivered</th>
                    </tr>
                  </thead>
                  <tbody>${items.map((each) => rowOf(each, request))}</tbody>
                </table>
              </div>
              ${next_cursor !== null && moreLink(`/webhooks${query({ cursor: next_cursor })}`, 'More')}
            `
        }
      `,
    });
  },
};

function rowOf(webhook: Webhook, { times }: MembersRequest): Html {
  const { id, url, description, last_delivered_at } = webhook;
  return html`
    <tr id="webhook-${id}" data-row>
      <td data-label="State">${webhookMark(webhook)}</td>
      <td data-label="Webhook">
        <span class="stacked">
          <a class="row-link" href="/webhooks/${id}">${webhookName(webhook)}</a>
          ${description !== '' && html`<span class="note">${new URL(url).host}</span>`}
        </span>
      </td>
      <td data-label="Events">${eventsText(webhook)}</td>
      <td data-label="Last delivered" class="number">
        ${last_delivered_at === null ? '–' : times.ago(last_delivered_at)}
      </td>
    </tr>
  `;
}
