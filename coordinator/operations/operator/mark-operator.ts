import type { markOperator as operation } from '../../../shared/api/inner/operator.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { writeOperator } from '../../store/operator.ts';
import { userByEmail } from '../../store/users.ts';
import type { Answer, Context } from '../context.ts';
import { found } from '../not-found.ts';

const marking =
  (is_operator: boolean) =>
  async ({ sql }: Context, { email }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
    const user = found(await userByEmail(sql, email.trim()), 'user_not_found');
    await writeOperator(sql, user.id, is_operator);
    return { ...user, is_operator };
  };

export const markOperator = marking(true);

/** It counts with their next request: whether somebody is one is read for each. */
export const unmarkOperator = marking(false);
