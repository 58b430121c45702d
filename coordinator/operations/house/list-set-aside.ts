import type { listSetAside as operation } from '../../../shared/api/inner/inner-house.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { allSetAside } from '../../store/store-set-aside.ts';
import type { Answer, Context } from '../operation-context.ts';
import { setAsideOut } from './operation-set-aside-out.ts';

export const listSetAside = async ({ sql }: Context): Answer<OutputOf<typeof operation>> => {
  const items = (await allSetAside(sql)).map(setAsideOut);
  return { items, count: items.length };
};
