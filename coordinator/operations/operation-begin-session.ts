import { newId } from '../../shared/base/ids.ts';
import { deleteSessionOf, insertSession } from '../store/store-sessions.ts';
import type { ByVisitor } from './operation-context.ts';

/** Long enough to tell browsers apart; a header of any length is not kept. */
const longestDevice = 300;

/** A session of its own for every sign-in: the one that the browser had before ends, so that nobody goes on in a session that was planted. */
export const beginSession = async ({ sql, now, note, visitor, with: { accountSecrets } }: ByVisitor, user: string): Promise<string> => {
  note({ user });
  if (visitor.cookie !== undefined) await deleteSessionOf(sql, await accountSecrets.fingerprint('session', visitor.cookie));
  const { text, fingerprint } = await accountSecrets.mint('session');
  const { address, device } = visitor;
  await insertSession(sql, { id: newId(), fingerprint, user, at: new Date(now), address, device: device.slice(0, longestDevice) });
  return text;
};
