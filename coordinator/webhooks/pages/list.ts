import { createWebhook, listWebhooks } from '../../../shared/api/webhooks.ts';
import { heading, linkButton, moreLink, nothing } from '../../web/elements.ts';
import { html, query } from '../../web/html.ts';
import { forMembers, type MembersRequest, show } from '../../web/page.ts';
import { number, stepTable } from '../../web/tables.ts';
import { eventsText, type Webhook, webhookMark, webhookName, webhookTrail } from './parts.ts';

/** The organisation's webhooks, oldest first. */
export const webhooksPage = forMembers.get('/webhooks', async (request) => {
  const { ask, may, query: asked } = request;
  const { items, next_cursor } = await ask(
    listWebhooks,
    asked.cursor === undefined ? {} : { cursor: asked.cursor },
  );
  const add =
    may(createWebhook) && linkButton('/webhooks/new', 'New webhook', { main: true, symbol: 'add' });
  return show({
    title: 'Webhooks',
    place: 'tokens',
    main: html`
        ${heading({
          sentence: 'Webhooks',
          below: html`
            Send every event to your programs as it comes, signed and with retries. For alerts, add
            a <a href="/alerts">channel</a>. <a href="/docs/webhooks">How to receive them</a>
          `,
          actions: items.length > 0 && add,
          trail: webhookTrail.slice(0, 1),
        })}
        ${
          items.length === 0
            ? nothing('send', 'No webhooks yet. Each tells one program what happens here.', add)
            : html`
              ${stepTable(items.map((each) => rowOf(each, request)))}
              ${next_cursor !== null && moreLink(`/webhooks${query({ cursor: next_cursor })}`, 'More')}
            `
        }
      `,
  });
});

function rowOf(webhook: Webhook, { times }: MembersRequest) {
  const { id, url, description, last_delivered_at } = webhook;
  return {
    id: `webhook-${id}`,
    State: webhookMark(webhook),
    Webhook: html`
      <span class="stacked">
        <a class="row-link" href="/webhooks/${id}">${webhookName(webhook)}</a>
        ${description !== '' && html`<span class="note">${new URL(url).host}</span>`}
      </span>
    `,
    Events: eventsText(webhook),
    'Last delivered': number(last_delivered_at === null ? '–' : times.ago(last_delivered_at)),
  };
}
