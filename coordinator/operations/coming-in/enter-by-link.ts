import type { enter as operation } from '../../../shared/api/inner/inner-coming-in.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { useSignInLink } from '../../store/store-sign-in-links.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';

export const enter = async (context: ByVisitor, { secret }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const {
    sql,
    now,
    with: { accountSecrets },
  } = context;
  const user = await useSignInLink(sql, await accountSecrets.fingerprint('sign-in link', secret), new Date(now));
  if (user === undefined) throw deadLink();
  return { session: await beginSession(context, user) };
};
