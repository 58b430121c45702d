import type { ShownMessage } from '../../store/store-messages-read.ts';

export const messageOut = ({ channel_id, due_at, created_at, settled_at, next_at, monitors, attempts, ...rest }: ShownMessage) => ({
  ...rest,
  channel: channel_id,
  due_at: due_at.toISOString(),
  created_at: created_at.toISOString(),
  settled_at: settled_at?.toISOString() ?? null,
  next_at: rest.state === 'waiting' ? next_at.toISOString() : null,
  incidents: monitors.map(({ id, incident, name, event }) => ({ incident, monitor: id, name, event })),
  attempts: attempts.map(({ at, ...attempt }) => ({ ...attempt, at: new Date(at).toISOString() })),
});
