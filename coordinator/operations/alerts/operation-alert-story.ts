import { isCovered, shutBy } from '../../domain/telling/telling-channel.ts';
import { type OnItsWay, type StoryLine, storyOf } from '../../domain/telling/telling-story.ts';
import type { ChannelRow } from '../../store/store-channels.ts';
import type { Queryable } from '../../store/store-database.ts';
import { coverOfMonitors } from '../../store/store-maintenance-cover.ts';
import type { DownOfIncident, ShownStep } from '../../store/store-messages-read.ts';

/** The story of an incident for one channel, from stored rows (rule 40). */

export type IncidentWay = { readonly incident: DownOfIncident; readonly covered: boolean };

/** What maintenance has to do with the "down" of each of these. */
export const waysOf = async (sql: Queryable, incidents: readonly DownOfIncident[]): Promise<IncidentWay[]> => {
  const moments = incidents.flatMap(({ down_due_at }) => (down_due_at === null ? [] : [down_due_at.getTime()]));
  if (moments.length === 0) return incidents.map((incident) => ({ incident, covered: false }));
  const range = { from: Math.min(...moments) - 1, to: Math.max(...moments) + 1 };
  const covers = await coverOfMonitors(sql, [...new Set(incidents.map(({ monitor_id }) => monitor_id))], range);
  return incidents.map((incident) => {
    const due = incident.down_due_at?.getTime() ?? 0;
    return { incident, covered: (covers.get(incident.monitor_id) ?? []).some(({ from, to }) => from <= due && due < to) };
  });
};

export const storyOfChannel = (
  { incident, covered }: IncidentWay,
  channel: Omit<ChannelRow, 'p95_ms'>,
  steps: readonly ShownStep[],
): readonly { readonly at: string | null; readonly text: string }[] => {
  const time = (at: Date | null): number | null => at?.getTime() ?? null;
  const state = incident.down_state;
  const way: OnItsWay = {
    channel: {
      name: channel.name,
      shut: shutBy({
        deleted: channel.deleted_at !== null,
        enabled: channel.enabled,
        verified: channel.verified_at !== null,
        unsubscribed: channel.unsubscribed_at !== null,
      }),
      covers: channel.covers,
      covered: isCovered(
        { covers: channel.covers, monitors: new Set(channel.monitors), groups: new Set(channel.groups) },
        { id: incident.monitor_id, group: incident.group_id },
      ),
    },
    incident: { confirmed_at: time(incident.confirmed_at), ended_at: time(incident.resolved_at) },
    down: { state: state === null ? 'none' : state === 'sent' ? 'due' : state, due_at: time(incident.down_due_at), covered },
    steps: steps.map(({ due_at, created_at, settled_at, ...step }) => ({
      ...step,
      ...{ due_at: due_at.getTime(), created_at: created_at.getTime(), settled_at: time(settled_at) },
    })),
  };
  return storyOf(way).map(({ at, text }: StoryLine) => ({ at: at === null ? null : new Date(at).toISOString(), text }));
};
