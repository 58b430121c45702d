import { describeLooks } from './every-page.ts';
import { mainLooks, pageLooks } from './looks.ts';

describeLooks(
  'every other page',
  pageLooks.filter((look) => !mainLooks.includes(look)),
  [
    { wide: ['dark'], narrow: [] },
    { wide: [], narrow: ['light'] },
  ],
);
