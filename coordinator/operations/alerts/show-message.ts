import type { showMessage as operation } from '../../../shared/api/inner/inner-alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { channelsEver } from '../../store/store-channels.ts';
import { downsOfIncidents, messageById, stepsToShow } from '../../store/store-messages-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { storyOfChannel, waysOf } from './operation-alert-story.ts';
import { messageOut } from './operation-message-out.ts';

/** So many incidents of one message are told step by step; the rest went the same way. */
const most = 20;

export const showMessage = async (
  { sql, organisation }: InOrganisation,
  { channel_id, message_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const message = found(await messageById(sql, organisation.id, channel_id, id), 'message_not_found');
  const incidents = message.monitors.slice(0, most).map(({ incident }) => incident);
  const [channels, downs, steps] = await Promise.all([
    channelsEver(sql, organisation.id),
    downsOfIncidents(sql, organisation.id, incidents),
    stepsToShow(sql, organisation.id, incidents),
  ]);
  const channel = found(
    channels.find((each) => each.id === message.channel_id),
    'message_not_found',
  );
  const names = new Map(message.monitors.map(({ incident, name }) => [incident, name]));
  return {
    ...messageOut(message),
    channel_deleted: channel.deleted_at?.toISOString() ?? null,
    stories: (await waysOf(sql, downs)).map((way) => {
      const own = steps.filter((step) => step.incident_id === way.incident.id && step.channel_id === channel.id);
      return { incident: way.incident.id, name: names.get(way.incident.id) ?? '', lines: storyOfChannel(way, channel, own) };
    }),
  };
};
