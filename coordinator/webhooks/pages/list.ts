import { createWebhook, listWebhooks } from '../../../shared/api/webhooks.ts';
import { heading, linkButton, moreLink, nothing } from '../../web/elements.ts';
import { html, query } from '../../web/html.ts';
import { forMembers, type MembersRequest, show } from '../../web/page.ts';
import { number, stacked, stepTable } from '../../web/tables.ts';
import {
  eventsText,
  type Webhook,
  webhookMark,
  webhookName,
  webhookSentence,
  webhookTrail,
} from './parts.ts';

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
          sentence: sentenceOf(items, next_cursor !== null),
          below: html`
            Your programs get each event as it comes, signed and with retries.${' '}
            <a href="/docs/webhooks">How to receive them</a>
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

function sentenceOf(items: readonly Webhook[], isMore: boolean): string {
  const failing = items.filter(({ enabled, failing_since }) => enabled && failing_since !== null);
  if (failing[0] !== undefined)
    return failing.length === 1
      ? webhookSentence(failing[0])
      : `${failing.length} webhooks are failing`;
  const on = items.filter(({ enabled }) => enabled).length;
  if (isMore) return `More than ${on} webhooks receive events`;
  if (on === 0) return items.length === 0 ? 'No webhooks yet' : 'All webhooks are off';
  return on === 1 ? 'One webhook receives events' : `${on} webhooks receive events`;
}

function rowOf(webhook: Webhook, { times }: MembersRequest) {
  const { id, url, description, last_delivered_at } = webhook;
  return {
    id: `webhook-${id}`,
    State: webhookMark(webhook),
    Webhook: stacked(
      html`<a class="row-link" href="/webhooks/${id}">${webhookName(webhook)}</a>`,
      description !== '' && new URL(url).host,
    ),
    Events: eventsText(webhook),
    'Last delivered': number(last_delivered_at === null ? '–' : times.ago(last_delivered_at)),
  };
}
