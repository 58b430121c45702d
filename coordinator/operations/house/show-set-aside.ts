import { isUtf8 } from 'node:buffer';
import type { showSetAside as operation } from '../../../shared/api/inner/inner-house.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { setAsideById } from '../../store/store-set-aside.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { setAsideOut } from './operation-set-aside-out.ts';

export const showSetAside = async ({ sql }: Context, { set_aside_id }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { data, ...row } = found(await setAsideById(sql, set_aside_id), 'set_aside_not_found');
  const encoding = isUtf8(data) ? 'text' : 'base64';
  return { ...setAsideOut(row), encoding, data: Buffer.from(data).toString(encoding === 'text' ? 'utf8' : 'base64') };
};
