import type { markOperator as operation } from '../../../shared/api/inner/inner-operator.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { writeOperator } from '../../store/store-operators.ts';
import { userByEmail } from '../../store/store-users.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

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
