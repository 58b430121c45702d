import { newId } from '../../shared/base/crypto.ts';
import { linkLives } from '../domain/signed-in-session.ts';
import { hasSecondFactor, insertSecondStep } from '../store/store-second-factors.ts';
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

/** A session for whoever has given the first proof, or the second step where the account asks for one. */
export const signInAs = async (
  context: ByVisitor,
  user: string,
): Promise<{ readonly session: string | null; readonly second_step: string | null }> => {
  const { sql, now, note } = context;
  if (!(await hasSecondFactor(sql, user))) return { session: await beginSession(context, user), second_step: null };
  const { text, fingerprint } = await context.with.accountSecrets.mint('second step');
  await insertSecondStep(sql, { fingerprint, user, at: new Date(now), expires_at: new Date(now + linkLives.secondStep) });
  note({ user, after: { second_step: 'asked for' } });
  return { session: null, second_step: text };
};
