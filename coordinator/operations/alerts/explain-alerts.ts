import type { explainAlerts as operation } from '../../../shared/api/inner/inner-alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { channelsEver } from '../../store/store-channels.ts';
import { downsOfIncidents, type ShownStep, stepsToShow } from '../../store/store-messages-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { storyOfChannel, waysOf } from './operation-alert-story.ts';

const outcomeOf = (steps: readonly ShownStep[]): 'told' | 'waiting' | 'untold' => {
  if (steps.some(({ message }) => message?.state === 'taken')) return 'told';
  return steps.some(({ state, message }) => state === 'held' || message?.state === 'waiting') ? 'waiting' : 'untold';
};

/** How long the first message that was taken took. */
const tookOf = (steps: readonly ShownStep[]): number | null => {
  const taken = steps.find(({ message }) => message?.state === 'taken');
  const settled = taken?.message?.settled_at ?? null;
  if (taken === undefined || settled === null) return null;
  return Math.max(0, settled - Math.max(taken.due_at.getTime(), ...taken.holds.map(([, , until]) => until)));
};

/** Every channel that there is, and those that were deleted and had been told. */
export const explainAlerts = async (
  { sql, organisation }: InOrganisation,
  { incident_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const downs = await downsOfIncidents(sql, organisation.id, [id]);
  const [way] = await waysOf(sql, downs);
  const { incident, covered } = found(way, 'incident_not_found');
  const [channels, steps] = await Promise.all([channelsEver(sql, organisation.id), stepsToShow(sql, organisation.id, [id])]);
  const { acknowledged_at, acknowledged_as, resort_at, resort_mailed } = incident;
  return {
    acknowledged: acknowledged_at === null ? null : { at: acknowledged_at.toISOString(), by: acknowledged_as ?? 'somebody' },
    last_resort: resort_at === null ? null : { at: resort_at.toISOString(), mailed: resort_mailed ?? [] },
    channels: channels.flatMap((channel) => {
      const own = steps.filter(({ channel_id }) => channel_id === channel.id);
      if (channel.deleted_at !== null && own.length === 0) return [];
      const { id: of, name, kind, deleted_at } = channel;
      const lines = storyOfChannel({ incident, covered }, channel, own);
      return [
        { channel: of, name, kind, deleted: deleted_at?.toISOString() ?? null, outcome: outcomeOf(own), took_ms: tookOf(own), lines },
      ];
    }),
  };
};
