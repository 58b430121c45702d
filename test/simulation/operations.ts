import type { Agenda } from './agenda.ts';
import type { Database } from './database.ts';
import type { Story } from './story.ts';
import { happeningsOf, type Truth } from './truth.ts';

/** What people do to their monitors and windows: rows and an outbox line in one transaction, then the coordinator is woken. */
export const scheduleOperations = (parts: {
  readonly story: Story;
  readonly truth: Truth;
  readonly agenda: Agenda;
  readonly database: Database;
  readonly wake: () => void;
  readonly wakeAlerter: () => void;
}): void => {
  const { story, truth, agenda, database, wake, wakeAlerter } = parts;

  for (const { monitor, at } of happeningsOf(story, 'edited'))
    agenda.at(at, () => {
      const before = database.watched[monitor];
      if (!before) return;
      const watched = { ...before, config_version: before.config_version + 1 };
      database.watched[monitor] = watched;
      database.outbox.push({ monitor, event: { is: 'edited', at, watched, changed: true } });
      wake();
    });

  const settlePause = (monitor: number) => {
    const before = database.watched[monitor];
    const at = agenda.now();
    const paused = truth.isPaused(monitor, at);
    if (!before || paused === (before.paused_at !== null)) return;
    database.watched[monitor] = { ...before, paused_at: paused ? at : null };
    database.outbox.push({ monitor, event: { is: paused ? 'paused' : 'resumed', at } });
    wake();
  };
  for (const { monitor, at, until } of happeningsOf(story, 'paused'))
    for (const time of [at, until]) agenda.at(time, () => settlePause(monitor));

  for (const { at, until, monitor, group, made, deleted } of happeningsOf(story, 'window')) {
    agenda.at(made, () => {
      const index = database.windows.length;
      const groups = group === null ? [] : [group];
      database.windows.push({ created_at: made, deleted_at: null, occurrences: [{ from: at, to: until }], direct: false, groups, monitor });
      if (deleted === null) return;
      agenda.at(deleted, () => {
        const known = database.windows[index];
        if (known) database.windows[index] = { ...known, deleted_at: deleted };
        wakeAlerter();
      });
    });
  }

  for (const { monitor, group, at } of happeningsOf(story, 'moved'))
    agenda.at(at, () => {
      for (const each of database.memberships) if (each.monitor === monitor && each.to === null) each.to = at;
      if (group !== null) database.memberships.push({ monitor, group, from: at, to: null });
      wakeAlerter();
    });
};
