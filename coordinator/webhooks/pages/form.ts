import { eventTypes } from '../../../shared/api/events.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../../../shared/api/webhooks.ts';
import { confirm } from '../../web/confirm.ts';
import { copyable, heading, linkButton, notice } from '../../web/elements.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import {
  checkField,
  choiceField,
  type FormState,
  formSummary,
  refuseUnlessMay,
  textField,
} from '../../web/forms.ts';
import { html } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { type Webhook, webhookName, webhookTrail } from './parts.ts';

const fields = ['url', 'description', 'event_types[]', 'enabled'] as const;

export const newWebhookPages = forMembers.form('/webhooks/new', (request) => ({
  fresh: () => refuseUnlessMay(request, createWebhook),
  shown: formPage,
  fields,
  act: async () => {
    const made = await request.ask(createWebhook, inputFrom(request.form));
    return secretPage(made.id, webhookName(made), made.secret);
  },
}));

/** `webhook`: the one that is edited; undefined for a new one. */
function formPage(state: FormState, webhook?: Webhook): PageAnswer {
  const sentence = webhook === undefined ? 'New webhook' : `Edit ${webhookName(webhook)}`;
  return show({
    title: sentence,
    place: 'tokens',
    status: state.status,
    main: html`
      ${heading({
        sentence,
        trail:
          webhook === undefined
            ? webhookTrail
            : [...webhookTrail, { href: `/webhooks/${webhook.id}`, name: webhookName(webhook) }],
      })}
      ${formSummary(state)}
      <form class="card form" method="post">
        ${textField({
          name: 'url',
          label: 'URL',
          type: 'url',
          required: true,
          autofocus: webhook === undefined,
          autocomplete: 'off',
          placeholder: 'https://hooks.example.com/antipode',
          help: 'Receives a signed POST per event, after it has answered a challenge. Only owners and admins see the full URL.',
          state,
        })}
        ${textField({
          name: 'description',
          label: 'Description',
          required: false,
          autocomplete: 'off',
          placeholder: 'Ticket system',
          state,
        })}
        ${choiceField({
          name: 'event_types[]',
          label: 'Events',
          several: true,
          filter: 'Filter by type',
          choices: eventTypes.map((type) => ({ value: type, label: type })),
          help: 'None selected: all events, including types added later.',
          state,
        })}
        ${
          webhook !== undefined &&
          checkField({
            name: 'enabled',
            label: 'Send events',
            help: 'Events that wait are dropped when you turn it off. You can replay them later.',
            state,
          })
        }
        <div class="actions">
          <button class="button button-main">
            ${webhook === undefined ? 'Create webhook' : 'Save'}
          </button>
          ${linkButton(webhook === undefined ? '/webhooks' : `/webhooks/${webhook.id}`, 'Cancel')}
        </div>
      </form>
    `,
  });
}

function inputFrom(form: Form) {
  return {
    url: form.value('url') ?? '',
    description: form.value('description') ?? '',
    event_types: form.values('event_types[]').filter((type) => type !== ''),
  };
}

/** Shown once: it is stored encrypted. */
function secretPage(id: string, name: string, secret: string): PageAnswer {
  return show({
    title: 'Copy your secret',
    place: 'tokens',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Copy your secret now',
        below: html`You see the secret of <b>${name}</b> only once. It verifies that events come from here.`,
        trail: webhookTrail,
      })}
      <div class="card stack">
        ${copyable(secret, 'the secret')}
        ${notice('information', 'Store it in a secret manager', 'If it leaks, replace it.')}
      </div>
      <p class="actions">${linkButton(`/webhooks/${id}`, 'Done', { main: true })}</p>
    `,
  });
}

export const editWebhookPages = forMembers.form('/webhooks/:webhook_id/edit', async (request) => {
  const webhook = await existing(request);
  const { ask, form } = request;
  return {
    fresh: () => {
      const { url, description, event_types, enabled } = webhook;
      return formOf({
        url,
        description,
        'event_types[]': event_types,
        ...(enabled ? { enabled: 'true' } : {}),
      });
    },
    shown: (state) => formPage(state, webhook),
    fields,
    act: async () => {
      await ask(updateWebhook, {
        ...inputFrom(form),
        webhook_id: webhook.id,
        enabled: form.value('enabled') === 'true',
      });
      return seeOther(`/webhooks/${webhook.id}`, { said: 'Webhook updated.' });
    },
  };
});

async function existing(request: MembersRequest): Promise<Webhook> {
  const webhook = await request.ask(getWebhook, { webhook_id: request.path.webhook_id });
  refuseUnlessMay(request, updateWebhook);
  return webhook;
}

export const replaceSecretPages = forMembers.form(
  '/webhooks/:webhook_id/secret',
  async (request) => {
    const webhook = await existing(request);
    const name = webhookName(webhook);
    return {
      shown: (state) =>
        confirm({
          state,
          title: `Replace the secret of ${name}`,
          place: 'tokens',
          below:
            'Events are signed with both secrets for 24 hours, so that your program can change over.',
          trail: [...webhookTrail, { href: `/webhooks/${webhook.id}`, name }],
          act: html`<button class="button button-main">Replace secret</button>`,
        }),
      act: async () => {
        const { secret } = await request.ask(rotateWebhookSecret, { webhook_id: webhook.id });
        return secretPage(webhook.id, name, secret);
      },
    };
  },
);

export const deleteWebhookPages = forMembers.form(
  '/webhooks/:webhook_id/delete',
  async (request) => {
    const webhook = await existing(request);
    const name = webhookName(webhook);
    return {
      shown: (state) =>
        confirm({
          state,
          title: `Delete ${name}`,
          place: 'tokens',
          below:
            'It gets no more events, and its log is deleted. To stop events for a while, turn it off instead.',
          trail: [...webhookTrail, { href: `/webhooks/${webhook.id}`, name }],
          act: 'Delete webhook',
        }),
      act: async () => {
        await request.ask(deleteWebhook, { webhook_id: webhook.id });
        return seeOther('/webhooks', { said: `${name} deleted.` });
      },
    };
  },
);
