import type { OutputOf } from '../../../shared/api/operation.ts';
import {
  getWebhook,
  listWebhookDeliveries,
  replayWebhook,
  resendWebhookDelivery,
  testWebhook,
  updateWebhook,
} from '../../../shared/api/webhooks.ts';
import {
  chips,
  countText,
  figure,
  fold,
  heading,
  linkButton,
  moreLink,
  msText,
  notice,
  rowAct,
} from '../../web/elements.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, query } from '../../web/html.ts';
import { menuLink, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { acts, stacked, stepTable } from '../../web/tables.ts';
import {
  answerText,
  type Delivery,
  deliveryMark,
  eventsText,
  type Webhook,
  webhookName,
  webhookSentence,
  webhookTrail,
} from './parts.ts';

const stateNames = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const webhookPage = forMembers.get('/webhooks/:webhook_id', (request) => pageOf(request));

async function pageOf(
  request: MembersRequest,
  said?: Html,
  state: FormState = freshForm(request.form),
): Promise<PageAnswer> {
  const { ask, path, query: asked } = request;
  const { webhook_id } = path;
  const [webhook, log] = await Promise.all([
    ask(getWebhook, { webhook_id }),
    ask(listWebhookDeliveries, {
      webhook_id,
      ...(asked.state === undefined ? {} : { state: asked.state }),
      ...(asked.cursor === undefined ? {} : { cursor: asked.cursor }),
    }),
  ]);
  const name = webhookName(webhook);
  return show({
    title: name,
    place: 'tokens',
    status: state.status,
    main: html`
      <div class="stack">
        ${heading({
          sentence: webhookSentence(webhook),
          below: 'Receives a signed POST for each of its events.',
          actions: actionsOf(request, webhook),
          trail: webhookTrail,
        })}
        ${formSummary(state)}
        ${said}
        ${whyNot(request, webhook)}
        ${settings(webhook, request)}
        ${logOf(request, webhook, log)}
        ${replayForm(request, webhook, state)}
      </div>
    `,
  });
}

function actionsOf(request: MembersRequest, { id }: Webhook): Html | null {
  return maySend(request)
    ? html`
      <form method="post" action="/webhooks/${id}/test">
        <button class="button">${icon('send')}Send a test</button>
      </form>
      ${linkButton(`/webhooks/${id}/edit`, 'Edit', { symbol: 'edit' })}
      ${moreActions(html`
        ${menuLink(`/webhooks/${id}/secret`, 'Replace secret', { symbol: 'tokens' })}
        <hr>
        ${menuLink(`/webhooks/${id}/delete`, 'Delete', { symbol: 'delete', danger: true })}
      `)}
    `
    : null;
}

function maySend({ may }: MembersRequest): boolean {
  return may(replayWebhook);
}

function whyNot(request: MembersRequest, webhook: Webhook): Html | null {
  const { id, enabled, disabled_because, failing_since } = webhook;
  const turnOn =
    maySend(request) &&
    html`
    <form method="post" action="/webhooks/${id}/turn-on">
      <button class="button">${icon('again')}Turn on</button>
    </form>
  `;
  if (!enabled)
    return html`
      ${
        disabled_because === null
          ? notice('unknown', 'This webhook is off', 'No events are sent there.')
          : notice(
              'down',
              disabled_because === 'gone'
                ? 'Turned off: its server says that the address is gone (410)'
                : 'Turned off: its server accepted nothing for five days',
              'No events are sent there. Once it works, turn it on and replay the events since then.',
            )
      }
      ${turnOn}
    `;
  return failing_since === null
    ? null
    : notice(
        'down',
        html`Every attempt failed since ${request.times.moment(failing_since)}`,
        'Each event is retried for three days. After five days without a success the webhook is turned off.',
      );
}

function settings(webhook: Webhook, { times }: MembersRequest): Html {
  const { url, event_types, last_delivered_at, created_at } = webhook;
  return html`
    <dl class="figures facts-row">
      <div class="wide"><dt>URL</dt><dd>${url}</dd></div>
      <div class="double">
        <dt>Events</dt>
        <dd>${event_types.length > 1 ? event_types.join(', ') : eventsText(webhook)}</dd>
      </div>
      ${figure('Last delivered', last_delivered_at === null ? '–' : times.ago(last_delivered_at))}
      ${figure('Created', times.moment(created_at))}
    </dl>
  `;
}

type Log = OutputOf<typeof listWebhookDeliveries>;

function logOf(request: MembersRequest, webhook: Webhook, { items, next_cursor }: Log): Html {
  const { state } = request.query;
  const address = `/webhooks/${webhook.id}`;
  return html`
    <section>
      <div class="section-head">
        <h2>Log</h2>
        <p class="soft">Kept for 14 days</p>
      </div>
      ${chips('State', [
        { href: address, label: 'All', current: state === undefined },
        ...Object.entries(stateNames).map(([value, label]) => ({
          href: `${address}${query({ state: value })}`,
          label,
          current: state === value,
        })),
      ])}
      ${
        items.length === 0
          ? html`<p class="nothing card">No events yet</p>`
          : html`
            ${stepTable(items.map((each) => rowOf(request, webhook, each)))}
            ${
              next_cursor !== null &&
              moreLink(`${address}${query({ state, cursor: next_cursor })}`, 'Earlier')
            }
          `
      }
    </section>
  `;
}

function rowOf(request: MembersRequest, webhook: Webhook, delivery: Delivery) {
  const { id, event, event_id, attempts, next_attempt_at, created_at } = delivery;
  const { times } = request;
  return {
    id: `delivery-${id}`,
    Event: stacked(html`<b>${event}</b>`, event_id),
    At: times.moment(created_at),
    State: stacked(
      deliveryMark(delivery),
      next_attempt_at !== null && attempts > 0 && html`next ${times.moment(next_attempt_at)}`,
    ),
    Response: answerOf(delivery),
    ...(maySend(request) &&
      webhook.enabled && {
        Resend: acts(html`
        <form method="post" action="/webhooks/${webhook.id}/deliveries/${id}/resend">
          ${rowAct({ symbol: 'send', words: 'Resend', of: `${event} ${event_id}` })}
        </form>
      `),
      }),
  };
}

function answerOf({ status, failure, answer, took_ms, state, attempts }: Delivery): Part {
  if (status === null && failure === null) return attempts === 0 ? '–' : 'In progress';
  const words = `${answerText({ status, failure })}, ${msText(took_ms)}${attempts > 1 ? `, ${attempts} attempts` : ''}`;
  return answer !== null && answer.trim() !== '' && state !== 'delivered'
    ? html`<details><summary>${words}</summary><pre>${answer}</pre></details>`
    : words;
}

function replayForm(request: MembersRequest, { id, enabled }: Webhook, state: FormState) {
  return (
    maySend(request) &&
    enabled &&
    html`
      <div class="folds">
        ${fold({
          title: 'Replay all events since a time',
          isOpen: state.faults.size > 0,
          body: html`
            <p class="soft">IDs stay the same. Events are kept for 90 days.</p>
            <form class="fields" method="post" action="/webhooks/${id}/replay">
              ${textField({
                name: 'since',
                label: `Since (${request.caller.organisation.time_zone})`,
                type: 'datetime-local',
                required: true,
                state,
              })}
              <button class="button">Replay</button>
            </form>
          `,
        })}
      </div>
    `
  );
}

export const sendTest = forMembers.post('/webhooks/:webhook_id/test', (request) =>
  actOn(
    request,
    (webhook_id) => request.ask(testWebhook, { webhook_id }),
    (tried) => pageOf(request, triedNotice(tried)),
  ),
);

/** A refusal is shown at the top of the page. */
async function actOn<Done>(
  request: MembersRequest,
  act: (webhook_id: string) => Promise<Done>,
  answer: (done: Done) => PageAnswer | Promise<PageAnswer>,
): Promise<PageAnswer> {
  const tried = await attempt(request.form, () => act(request.path.webhook_id ?? ''), ['since']);
  return 'refused' in tried ? pageOf(request, undefined, tried.refused) : answer(tried.done);
}

function triedNotice({
  delivered,
  status,
  failure,
  answer,
  took_ms,
}: OutputOf<typeof testWebhook>): Html {
  return delivered
    ? notice('up', `Test delivered (HTTP ${status}, ${msText(took_ms)})`)
    : html`
      ${notice('down', `Test not delivered: ${answerText({ status, failure })}`)}
      ${answer !== null && answer.trim() !== '' && html`<pre>${answer}</pre>`}
    `;
}

export const resend = forMembers.post(
  '/webhooks/:webhook_id/deliveries/:delivery_id/resend',
  (request) =>
    actOn(
      request,
      (webhook_id) =>
        request.ask(resendWebhookDelivery, { webhook_id, delivery_id: request.path.delivery_id }),
      () => seeOther(`/webhooks/${request.path.webhook_id}`, { said: 'Event queued again.' }),
    ),
);

export const replay = forMembers.post('/webhooks/:webhook_id/replay', (request) =>
  actOn(
    request,
    (webhook_id) =>
      request.ask(replayWebhook, { webhook_id, since: request.form.value('since') ?? '' }),
    ({ events }) =>
      seeOther(`/webhooks/${request.path.webhook_id}`, {
        said: events === 1 ? 'One event queued.' : `${countText(events)} events queued.`,
      }),
  ),
);

export const turnOn = forMembers.post('/webhooks/:webhook_id/turn-on', (request) =>
  actOn(
    request,
    (webhook_id) => request.ask(updateWebhook, { webhook_id, enabled: true }),
    (webhook) => seeOther(`/webhooks/${webhook.id}`, { said: 'Webhook turned on.' }),
  ),
);
