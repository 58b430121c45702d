import type { dropSetAside as operation } from '../../../shared/api/inner/inner-house.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { dropSetAside as forget, setAsideById } from '../../store/store-set-aside.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { whichSetAside } from './operation-which-set-aside.ts';

export const dropSetAside = async ({ sql }: Context, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const id = whichSetAside(input);
  if (id !== null) found(await setAsideById(sql, id), 'set_aside_not_found');
  return { dropped: await forget(sql, id) };
};
