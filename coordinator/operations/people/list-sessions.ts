import type { listSessions as operation } from '../../../shared/api/inner/inner-people.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { deviceOf } from '../../domain/browser-name.ts';
import { isOver } from '../../domain/signed-in-session.ts';
import { sessionsOf } from '../../store/store-sessions.ts';
import type { Answer, ByPerson } from '../operation-context.ts';

export const listSessions = async ({ sql, now, person }: ByPerson): Answer<OutputOf<typeof operation>> => ({
  items: (await sessionsOf(sql, person.user))
    .filter((session) => !isOver(session, now))
    .map(({ id, device, address, created_at, last_used_at }) => ({
      id,
      device: deviceOf(device),
      address,
      created_at: created_at.toISOString(),
      last_used_at: last_used_at.toISOString(),
      is_this: id === person.session,
    })),
});
