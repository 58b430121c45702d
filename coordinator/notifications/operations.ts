import * as api from '../../shared/api/notifications.ts';
import { postMails } from '../account-mail/queries.ts';
import type { Queryable } from '../database/connect.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { handle } from '../gate/bind.ts';
import { type ByAnonymous, type InOrganisation, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { deadLink } from '../gate/roles.ts';
import { requireGroups } from '../groups/queries.ts';
import { writeAcknowledgement } from '../incidents/queries.ts';
import { coverOfMonitors } from '../maintenance/cover.ts';
import { monitorById } from '../monitors/queries.ts';
import * as contract from './contract.ts';
import { ownersOf } from './last-resort.ts';
import { type AlertLinkFor, type LinkedMessage, messageOfLink } from './links.ts';
import { beginMute, endMute, muteOf } from './mute-queries.ts';
import { disabledReasonOf, isCovered, muteFrom, obstacleOf } from './policy.ts';
import {
  askedMailbox,
  type ChannelRow,
  channelById,
  channelsEver,
  type DownOfIncident,
  downsOfIncidents,
  lastMessages,
  type MessageRow,
  messageById,
  messagesOfIncident,
  type StepRow,
  stepsToShow,
  suppress,
  verifyChannel,
} from './queries.ts';
import { type NotificationProgress, parentHolding, storyOf } from './story.ts';

/** The history of an incident for one channel, from stored rows (rule 40). */

export type IncidentWay = { readonly incident: DownOfIncident; readonly covered: boolean };

/** How maintenance affected the "down" of each of these. */
export async function waysOf(
  sql: Queryable,
  incidents: readonly DownOfIncident[],
): Promise<IncidentWay[]> {
  const moments = incidents.flatMap(({ down_due_at }) =>
    down_due_at === null ? [] : [down_due_at],
  );
  if (moments.length === 0) return incidents.map((incident) => ({ incident, covered: false }));
  const range = { from: Math.min(...moments) - 1, to: Math.max(...moments) + 1 };
  const covers = await coverOfMonitors(
    sql,
    [...new Set(incidents.map(({ monitor_id }) => monitor_id))],
    range,
  );
  return incidents.map((incident) => {
    const due = incident.down_due_at ?? 0;
    return {
      incident,
      covered: (covers.get(incident.monitor_id) ?? []).some(
        ({ from, to }) => from <= due && due < to,
      ),
    };
  });
}

export function storyOfChannel(
  { incident, covered }: IncidentWay,
  channel: Omit<ChannelRow, 'p95_ms'>,
  steps: readonly StepRow[],
) {
  const state = incident.down_state;
  const way: NotificationProgress = {
    channel: {
      name: channel.name,
      shut: disabledReasonOf({
        deleted: channel.deleted_at !== null,
        enabled: channel.enabled,
        verified: channel.verified_at !== null,
        unsubscribed: channel.unsubscribed_at !== null,
      }),
      covers: channel.covers,
      covered: isCovered(
        {
          covers: channel.covers,
          monitors: new Set(channel.monitors),
          groups: new Set(channel.groups),
        },
        { id: incident.monitor_id, group: incident.group_id },
      ),
    },
    incident: { confirmed_at: incident.confirmed_at, ended_at: incident.resolved_at },
    down: {
      state: state === null ? 'none' : state === 'sent' ? 'due' : state,
      due_at: incident.down_due_at,
      covered,
    },
    steps: steps.map(({ due_at, created_at, settled_at, ...step }) => ({
      ...step,
      due_at,
      created_at,
      settled_at,
    })),
  };
  return storyOf(way);
}

/** Messages of one incident that are listed. */
const most = 100;

export const getIncidentNotifications = handle(api.getIncidentNotifications)(
  async (context, { incident_id: id }) => {
    const { sql, organisation } = context;
    const [story, messages] = await Promise.all([
      storyOfIncident(context, id),
      messagesOfIncident(sql, organisation.id, id, most),
    ]);
    return { ...story, messages: messages.map(messageJson) };
  },
);

export const explainNotifications = handle(contract.explainNotifications)(
  async (context, { incident_id: id }) => storyOfIncident(context, id),
);

/** Every channel that exists, and deleted ones that were notified. */
async function storyOfIncident({ sql, organisation }: InOrganisation, id: string) {
  const downs = await downsOfIncidents(sql, organisation.id, [id]);
  const [way] = await waysOf(sql, downs);
  const { incident, covered } = orNotFound(way, 'incident_not_found');
  const [channels, steps] = await Promise.all([
    channelsEver(sql, organisation.id),
    stepsToShow(sql, organisation.id, [id]),
  ]);
  const { acknowledged_at, acknowledged_as, resort_at, resort_mailed } = incident;
  return {
    acknowledged:
      acknowledged_at === null ? null : { at: acknowledged_at, by: acknowledged_as ?? 'someone' },
    last_resort: resort_at === null ? null : { at: resort_at, mailed: resort_mailed ?? [] },
    held_because: parentHolding(steps),
    channels: channels.flatMap((channel) => {
      const own = steps.filter(({ channel_id }) => channel_id === channel.id);
      if (channel.deleted_at !== null && own.length === 0) return [];
      const { id: of, name, kind, deleted_at } = channel;
      const lines = storyOfChannel({ incident, covered }, channel, own);
      return [
        {
          channel: of,
          name,
          kind,
          deleted: deleted_at,
          outcome: outcomeOf(own),
          took_ms: tookOf(own),
          lines,
        },
      ];
    }),
  };
}

function outcomeOf(steps: readonly StepRow[]): 'notified' | 'waiting' | 'not_notified' {
  if (steps.some(({ message }) => message?.state === 'delivered')) return 'notified';
  return steps.some(({ state, message }) => state === 'held' || message?.state === 'waiting')
    ? 'waiting'
    : 'not_notified';
}

/** The latency of the first accepted message. */
function tookOf(steps: readonly StepRow[]): number | null {
  const delivered = steps.find(({ message }) => message?.state === 'delivered');
  const settled = delivered?.message?.settled_at ?? null;
  if (delivered === undefined || settled === null) return null;
  return Math.max(
    0,
    settled - Math.max(delivered.due_at, ...delivered.holds.map(([, , until]) => until)),
  );
}

/** Anyone who has a message may do what its links say (rule 34). */
export const showAcknowledgement = handle(contract.showAcknowledgement)(
  async (context, { secret }) => {
    const { organisation, channel, sentence, open, acknowledged_as, incidents } = await messageOf(
      context,
      'acknowledge',
      secret,
    );
    return {
      organisation,
      channel,
      sentence,
      incidents: [...incidents],
      open: open > 0,
      acknowledged_by: acknowledged_as,
    };
  },
);

async function messageOf(
  { sql, with: { channels } }: ByAnonymous,
  what: AlertLinkFor,
  secret: string,
): Promise<LinkedMessage> {
  const id = await channels.links.read(what, secret);
  const message = id === undefined ? undefined : await messageOfLink(sql, id);
  if (!message) throw deadLink();
  return message;
}

export const acknowledgeByLink = handle(contract.acknowledgeByLink)(async (context, { secret }) => {
  const {
    organisation_id: organisation,
    channel,
    incidents,
  } = await messageOf(context, 'acknowledge', secret);
  context.note({ organisation });
  const as = `the link in the ${channel} message`;
  return {
    incidents: await writeAcknowledgement(context.sql, {
      incidents,
      organisation,
      user: null,
      as,
      now: context.now,
    }),
  };
});

export const showConfirmation = handle(contract.showConfirmation)(
  async ({ sql, now, with: { accountSecrets } }, { secret }) => {
    const asked = await askedMailbox(sql, await accountSecrets.fingerprint('channel', secret), now);
    if (!asked) throw deadLink();
    return asked;
  },
);

export const confirmChannel = handle(contract.confirmChannel)(
  async ({ sql, now, note, with: { accountSecrets } }, { secret }) => {
    const channel = await verifyChannel(
      sql,
      await accountSecrets.fingerprint('channel', secret),
      now,
    );
    if (!channel) throw deadLink();
    note({ organisation: channel.organisation_id });
    return { name: channel.name };
  },
);

export const showUnsubscribing = handle(contract.showUnsubscribing)(async (context, { secret }) => {
  const { organisation, address } = await messageOf(context, 'unsubscribe', secret);
  if (address === null) throw deadLink();
  return { organisation, address };
});

/**
 * Unsubscribes that address alone. Owners are notified once, because alerts may now reach no one.
 */
export const unsubscribe = handle(contract.unsubscribe)(async (context, { secret }) => {
  const { sql, now, note, with: instruments } = context;
  const {
    organisation_id: organisation,
    organisation: name,
    address,
  } = await messageOf(context, 'unsubscribe', secret);
  if (address === null) throw deadLink();
  note({ organisation });
  const isNew = await suppress(sql, organisation, address, now);
  if (isNew && instruments.door.mail) {
    const owners = (await ownersOf(sql, [organisation])).get(organisation) ?? [];
    const about = { organisation: name, address };
    await postMails(
      sql,
      owners.map((recipient) => ({ kind: 'unsubscribed', recipient, about, at: now }) as const),
    );
  }
  return { address };
});

export function messageJson({
  key: _,
  channel_id,
  due_at,
  created_at,
  settled_at,
  next_at,
  monitors,
  attempts,
  ...rest
}: MessageRow) {
  return {
    ...rest,
    channel: channel_id,
    due_at,
    created_at,
    settled_at,
    next_at: rest.state === 'waiting' ? next_at : null,
    incidents: monitors.map(({ id, incident, name, event }) => ({
      incident,
      monitor: id,
      name,
      event,
    })),
    attempts: attempts.map(({ at, ...attempt }) => ({
      ...attempt,
      at,
    })),
  };
}

export const listMessages = handle(api.listMessages)(
  async ({ sql, organisation, now, with: { cursors } }, { channel, limit, cursor }) => {
    if (channel !== null) await channelById(sql, organisation.id, channel, now);
    return pageOf(
      cursors,
      ['messages', organisation.id, channel],
      { limit, cursor },
      (from, most) =>
        lastMessages(sql, organisation.id, { channel, before: from ?? afterAll, most }),
      messageJson,
    );
  },
);

export const listNotified = handle(contract.listNotified)(async (context, { monitor_id: id }) => {
  const monitor = await monitorById(context.sql, context.organisation.id, id);
  return toldOf(context, { id, group: monitor.group_id });
});

/** The channels that cover a monitor, as it is or as it would be, in order. */
async function toldOf(
  { sql, organisation, now, with: { door } }: InOrganisation,
  monitor: { readonly id: string; readonly group: string | null },
) {
  const covering = (await channelsEver(sql, organisation.id)).filter(
    ({ covers, monitors, groups, deleted_at }) =>
      deleted_at === null &&
      isCovered({ covers, monitors: new Set(monitors), groups: new Set(groups) }, monitor),
  );
  return {
    items: covering
      .toSorted((a, b) => a.delay_s - b.delay_s)
      .map(
        ({
          id: channel,
          name,
          kind,
          owner_email: owner,
          delay_s,
          enabled,
          verified_at,
          unsubscribed_at,
          failing_since,
          refused_at,
        }) => {
          const state = {
            deleted: false,
            enabled,
            verified: verified_at !== null,
            unsubscribed: unsubscribed_at !== null,
          };
          const reason = disabledReasonOf(state);
          const obstacle = obstacleOf({ kind, failing_since, refused_at }, door.mail, now);
          return {
            channel,
            name,
            kind,
            owner,
            delay_s,
            // Without mail it cannot be confirmed: that comes first, as on the list of channels.
            shut: (reason === 'unproven' ? obstacle : undefined) ?? reason ?? obstacle ?? null,
          };
        },
      ),
  };
}

/**
 * A monitor that does not exist yet cannot have been chosen: its recipients are channels for all
 * monitors, or for its group.
 */
export const listRecipients = handle(contract.listRecipients)(
  async (context, { monitor: id, group }) => {
    const { sql, organisation } = context;
    if (id !== null) await monitorById(sql, organisation.id, id);
    if (group !== null) await requireGroups(sql, organisation.id, [group]);
    return toldOf(context, { id: id ?? '', group });
  },
);

export const showMute = handle(api.showMute)(async ({ sql, organisation, now }) => {
  const [mute] = await muteOf(sql, organisation.id, now);
  return { until: mute?.until ?? null, by: mute?.by ?? null };
});

/** A new mute replaces the previous one. */
export const muteAlerts = handle(api.muteAlerts)(async (context, { minutes }) => {
  const { sql, organisation, caller, now } = context;
  await beginMute(sql, {
    organisation: organisation.id,
    user: caller.user,
    at: now,
    until: now + muteFrom(minutes) * 60_000,
  });
  return showMute(context, {});
});

export const unmuteAlerts = handle(api.unmuteAlerts)(async (context) => {
  await endMute(context.sql, context.organisation.id, context.now);
  return showMute(context, {});
});

/** How many incidents of one message are explained step by step; the rest went the same way. */
const maxBodyShown = 20;

export const showMessage = handle(contract.showMessage)(
  async ({ sql, organisation }, { channel_id, message_id: id }) => {
    const message = orNotFound(
      await messageById(sql, organisation.id, channel_id, id),
      'message_not_found',
    );
    const shown = message.monitors.slice(0, maxBodyShown);
    const incidents = shown.map(({ incident }) => incident);
    const [channels, downs, steps] = await Promise.all([
      channelsEver(sql, organisation.id),
      downsOfIncidents(sql, organisation.id, incidents),
      stepsToShow(sql, organisation.id, incidents),
    ]);
    const channel = orNotFound(
      channels.find((each) => each.id === message.channel_id),
      'message_not_found',
    );
    const ways = await waysOf(sql, downs);
    return {
      ...messageJson(message),
      channel_deleted: channel.deleted_at,
      stories: shown.flatMap((told): AnswerOf<typeof contract.showMessage>['stories'] => {
        const { id: monitor, incident, name, event } = told;
        if (event === 'warning' || event === 'warning_over')
          return [{ incident: null, monitor, name, lines: linesOfWarning(told) }];
        const way = ways.find((each) => each.incident.id === incident);
        if (way === undefined) return [];
        const own = steps.filter(
          (step) => step.incident_id === incident && step.channel_id === channel.id,
        );
        return [{ incident, monitor, name, lines: storyOfChannel(way, channel, own) }];
      }),
    };
  },
);

/** A warning has no incident (rule 44): its message keeps what is to be said of it. */
function linesOfWarning({
  cause,
  started_at,
  confirmed_at,
  resolved_at,
}: MessageRow['monitors'][number]) {
  return [
    { at: started_at, text: `Warning first seen: ${cause}` },
    { at: confirmed_at, text: 'Warning confirmed. It does not count as downtime.' },
    { at: resolved_at, text: 'Warning over' },
  ].flatMap(({ at, text }) => (at === null ? [] : [{ at, text }]));
}
