import type { retrySetAside as operation } from '../../../shared/api/inner/inner-house.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { retrySetAside as askAgain, setAsideById } from '../../store/store-set-aside.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { whichSetAside } from './operation-which-set-aside.ts';

/** The owner of its partition works on it: right away where a coordinator runs, else when one does. */
export const retrySetAside = async ({ sql }: Context, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const id = whichSetAside(input);
  if (id !== null) found(await setAsideById(sql, id), 'set_aside_not_found');
  return { asked: await askAgain(sql, id) };
};
