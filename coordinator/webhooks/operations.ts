import * as api from '../../shared/api/webhooks.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { cancelWaiting } from '../deliveries/sending.ts';
import { eventCursors } from '../events/position.ts';
import { hourly } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { mayManage } from '../gate/caller.ts';
import {
  type Context,
  type Early,
  type InOrganisation,
  type OrganisationScope,
  orNotFound,
} from '../gate/context.ts';
import { afterAll, beforeAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { epochOf } from '../maintenance/zones.ts';
import { challenge } from '../notifications/challenge.ts';
import { newSigningSecret, signedPost } from '../notifications/kinds/webhook.ts';
import { countTry } from '../notifications/queries.ts';
import {
  attempted,
  maskedUrl,
  rotated,
  validSecrets,
  webhookContent,
  webhookDescriptionFrom,
  webhookUrlFrom,
} from './model.ts';
import {
  beginCursors,
  countWebhooks,
  type DeliveryRow,
  deliveryPage,
  insertWebhook,
  moveCursorBack,
  positionSince,
  deleteWebhook as remove,
  resendDelivery,
  type WebhookRow,
  webhookById,
  webhookPage,
  updateWebhook as write,
  writeWebhookSecrets,
} from './queries.ts';
import { openWebhook, sealWebhook } from './secrets.ts';

export const listWebhooks = handle(api.listWebhooks)(async (context, input) => {
  const { sql, organisation, with: dependencies } = context;
  const rows = await pageOf(
    dependencies.cursors,
    ['webhooks', organisation.id],
    input,
    (from, limit) => webhookPage(sql, organisation.id, from ?? beforeAll, limit),
    (row) => row,
  );
  return {
    items: await Promise.all(rows.items.map((row) => webhookJson(context, row))),
    next_cursor: rows.next_cursor,
  };
});

type Reading = Pick<Context, 'sql' | 'with'> & OrganisationScope;

/** Keys of secrets are cached, so this makes no database query. */
async function webhookJson(context: Reading, row: WebhookRow) {
  const { url } = await openWebhook(context.with.secrets, context.sql, row.id, row.secrets);
  return { ...row, url: seesAll(context) ? url : maskedUrl(url) };
}

/** Only owners and admins see the whole address, and what its server answers. */
function seesAll({ caller }: Pick<OrganisationScope, 'caller'>): boolean {
  return caller.is === 'operator' || mayManage(caller.role);
}

export const getWebhook = handle(api.getWebhook)(async (context, { webhook_id: id }) =>
  webhookJson(context, await existing(context, id)),
);

async function existing(
  { sql, organisation }: Pick<InOrganisation, 'sql' | 'organisation'>,
  id: string,
): Promise<WebhookRow> {
  return orNotFound(await webhookById(sql, organisation.id, id), 'webhook_not_found');
}

/** How often an organisation, and all of them together, may have us test an address. */
const challengesAnHour = { organisation: 30, host: 60 };

export const createWebhook = handle(api.createWebhook)({
  before: async (early, input) => {
    const { pool, organisation } = early;
    const url = webhookUrlFrom(input.url);
    webhookDescriptionFrom(input.description);
    enforceLimit('webhooks', organisation.plan, await countWebhooks(pool, organisation.id));
    const [id, secret] = [newId(), newSigningSecret()];
    await prove(early, { url, id, secrets: [secret] });
    return { url, id, secret };
  },
  act: async (context, input, { url, id, secret }) => {
    const { sql, organisation, now, note, with: dependencies } = context;
    const description = webhookDescriptionFrom(input.description);
    const { enabled } = input;
    const event_types = [...new Set(input.event_types)];
    enforceLimit('webhooks', organisation.plan, await countWebhooks(sql, organisation.id));
    const box = { url: url.href, secrets: [{ secret, until: null }] };
    await insertWebhook(
      sql,
      {
        id,
        organisation: organisation.id,
        description,
        host: url.host,
        event_types,
        enabled,
        secrets: await sealWebhook(dependencies.secrets, sql, id, box),
      },
      now,
    );
    note({ after: { id, url: maskedUrl(url.href), description, event_types, enabled } });
    return { ...(await webhookJson(context, await existing(context, id))), secret };
  },
});

/** Only what its server wants is sent anywhere. @throws Refusal `webhook_unproved`. */
async function prove(
  { organisation, now, with: { attempts, channels } }: Early<OrganisationScope>,
  to: { readonly url: URL; readonly id: string; readonly secrets: readonly string[] },
): Promise<void> {
  await attempts.count([
    hourly(`webhook challenges of ${organisation.id}`, challengesAnHour.organisation),
    hourly(`webhook challenges of ${to.url.host} from everywhere`, challengesAnHour.host),
  ]);
  const refused = await challenge(channels.sendEvent, {
    ...to,
    url: to.url.href,
    now,
    type: 'webhook.challenge',
  });
  if (refused !== undefined)
    throw new Refusal('webhook_unproved', {
      url: `the address must answer a POST of the type webhook.challenge with 2xx and the text of data.challenge. It did not: ${refused}.`,
    });
}

export const updateWebhook = handle(api.updateWebhook)({
  before: async (early, { webhook_id: id, url: given, description }) => {
    if (given === null) return;
    const { pool: sql, organisation, now, with: dependencies } = early;
    const row = await existing({ sql, organisation }, id);
    const stored = await openWebhook(dependencies.secrets, sql, id, row.secrets);
    const url = webhookUrlFrom(given);
    if (description !== null) webhookDescriptionFrom(description);
    const secrets = validSecrets(stored.secrets, now).map(({ secret }) => secret);
    if (url.href !== stored.url) await prove(early, { url, id: newId(), secrets });
  },
  act: async (context, input) => {
    const { sql, organisation, now, note, with: dependencies } = context;
    const before = await existing(context, input.webhook_id);
    const stored = await openWebhook(dependencies.secrets, sql, before.id, before.secrets);
    const url = input.url === null ? new URL(stored.url) : webhookUrlFrom(input.url);
    const enabled = input.enabled ?? before.enabled;
    const after = {
      description:
        input.description === null ? before.description : webhookDescriptionFrom(input.description),
      event_types: [...new Set(input.event_types ?? before.event_types)],
      enabled,
    };
    const isTurnedOn = enabled && !before.enabled;
    await write(
      sql,
      {
        ...after,
        id: before.id,
        organisation: organisation.id,
        host: url.host,
        secrets: await sealWebhook(dependencies.secrets, sql, before.id, {
          ...stored,
          url: url.href,
        }),
      },
      isTurnedOn || url.href !== stored.url,
    );
    if (isTurnedOn) await beginCursors(sql, before.id);
    if (!enabled) await cancelWaiting(sql, 'event', [before.id], now);
    const { description, event_types } = before;
    note({
      before: { url: maskedUrl(stored.url), description, event_types, enabled: before.enabled },
      after: { url: maskedUrl(url.href), ...after },
    });
    return webhookJson(context, await existing(context, before.id));
  },
});

export const deleteWebhook = handle(api.deleteWebhook)(async (context, { webhook_id: id }) => {
  const { sql, organisation, note } = context;
  const { description, host } = await existing(context, id);
  await remove(sql, organisation.id, id);
  note({ before: { description, host } });
});

export const rotateWebhookSecret = handle(api.rotateWebhookSecret)(
  async (context, { webhook_id: id }) => {
    const { sql, organisation, now, with: dependencies } = context;
    const row = await existing(context, id);
    const stored = await openWebhook(dependencies.secrets, sql, id, row.secrets);
    const secret = newSigningSecret();
    const secrets = rotated(stored.secrets, secret, now);
    await writeWebhookSecrets(
      sql,
      organisation.id,
      id,
      await sealWebhook(dependencies.secrets, sql, id, { ...stored, secrets }),
    );
    return { secret, previous_until: new Date(secrets[1]?.until ?? now).toISOString() };
  },
);

/** Sends before the transaction, because it may take 15 seconds. */
export const testWebhook = handle(api.testWebhook)({
  before: async (early, { webhook_id: id }) => {
    const { pool: sql, organisation, now, with: dependencies } = early;
    const row = await existing({ sql, organisation }, id);
    const { url, secrets } = await openWebhook(dependencies.secrets, sql, id, row.secrets);
    await countTry(sql, organisation.id, now);
    const sent = webhookContent({
      id: newId(),
      at: new Date(now).toISOString(),
      event: 'webhook.test',
      monitor: null,
      incident: null,
      group: null,
      window: null,
      warning: null,
      cause: null,
      name: null,
    });
    const began = performance.now();
    const outcome = await dependencies.channels.sendEvent(
      signedPost({
        url,
        secrets: validSecrets(secrets, now).map(({ secret }) => secret),
        id: sent.data.id,
        now,
        content: sent,
      }),
    );
    const { verdict, status, class: failure, answer } = attempted(outcome);
    const took_ms = Math.max(0, Math.round(performance.now() - began));
    return { delivered: verdict.is === 'delivered', status, failure, answer, took_ms, sent };
  },
  act: async ({ note }, _input, tried) => {
    note({ after: { delivered: tried.delivered } });
    return tried;
  },
});

export const listWebhookDeliveries = handle(api.listWebhookDeliveries)(async (context, input) => {
  const { sql, organisation, with: dependencies } = context;
  const { id: webhook } = await existing(context, input.webhook_id);
  const { state } = input;
  return pageOf(
    dependencies.cursors,
    ['webhook deliveries', organisation.id, webhook, state],
    input,
    (from, limit) =>
      deliveryPage(sql, organisation.id, { webhook, state }, from ?? afterAll, limit),
    (row) => deliveryJson(context, row),
  );
});

function deliveryJson(scope: Pick<OrganisationScope, 'caller'>, row: DeliveryRow) {
  const { attempted: last } = row;
  return {
    ...row,
    next_attempt_at: row.state === 'waiting' ? row.next_at : null,
    attempted_at: last?.at ?? null,
    status: last?.status ?? null,
    failure: last?.class ?? null,
    answer: seesAll(scope) ? (last?.answer ?? null) : null,
    took_ms: last?.took_ms ?? null,
  };
}

const resendsAnHour = 60;
const replaysAnHour = 10;

export const resendWebhookDelivery = handle(api.resendWebhookDelivery)({
  before: async ({ pool: sql, organisation, with: { attempts } }, { webhook_id: id }) => {
    await existingOn({ sql, organisation }, id);
    await attempts.count([hourly(`resends of ${organisation.id}`, resendsAnHour)]);
  },
  act: async (context, { webhook_id: id, delivery_id }) => {
    const { sql, organisation, now, note } = context;
    const row = orNotFound(
      await resendDelivery(sql, organisation.id, id, delivery_id, now),
      'webhook_delivery_not_found',
    );
    note({ after: { event: row.event, event_id: row.event_id } });
    return deliveryJson(context, row);
  },
});

async function existingOn(
  scope: Pick<InOrganisation, 'sql' | 'organisation'>,
  id: string,
): Promise<void> {
  const { enabled } = await existing(scope, id);
  if (!enabled)
    throw new Refusal('webhook_disabled', 'This webhook is turned off. Turn it on first.');
}

export const replayWebhook = handle(api.replayWebhook)({
  before: async ({ pool: sql, organisation, with: { attempts } }, { webhook_id: id }) => {
    await existingOn({ sql, organisation }, id);
    // One after the other: what the first refuses takes none of the hour's.
    await attempts.count([{ what: `replays of webhook ${id}`, most: 1, withinMs: 60_000 }]);
    await attempts.count([hourly(`replays of ${organisation.id}`, replaysAnHour)]);
  },
  act: async (
    { sql, organisation, note, with: dependencies },
    { webhook_id: id, after, since },
  ) => {
    const from =
      after === null
        ? since &&
          (await positionSince(sql, organisation.id, epochOf(since, organisation.time_zone)))
        : await (await eventCursors(sql, dependencies.cursors, organisation.id, null)).read(after, [
            'body',
            'after',
          ]);
    const events = from ? await moveCursorBack(sql, organisation.id, id, from) : 0;
    note({ after: { events } });
    return { events };
  },
});
