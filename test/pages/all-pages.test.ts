import { expect, test } from 'vitest';
import { pages } from '../../coordinator/pages.ts';
import type { Demo } from '../support/demo.ts';
import { describeLooks } from './every-page.ts';
import { mainLooks, pageLooks } from './looks.ts';

/** No documents; or, of links in mails, all the one page that says that the link is not good. */
const notLookedAt = [
  '/status-pages/:page_id/logo',
  '/finish/:secret',
  '/reset/:secret',
  '/verify/:secret',
  '/keep/:secret',
  '/audit.csv',
  '/reports.csv',
  '/favicon.svg',
  '/favicon.ico',
  '/robots.txt',
  '/llms.txt',
  '/.well-known/security.txt',
  // Both lead away, or say why not.
  '/sign-in/provider/:provider',
  '/sign-in/provider/:provider/answer',
  '/manifest.webmanifest',
];
const nameless: Demo = {
  idOf: () => 'x',
  groupOf: () => 'x',
  incident: 'x',
  check: 'check',
  share: 'x',
  reportShare: { id: 'x', secret: 'x' },
  reportMail: { id: 'x', leave: 'x' },
  page: { id: 'x', slug: 'x', report: 'x' },
  channels: {
    ops: 'x',
    pager: 'x',
    message: 'x',
    links: { acknowledge: 'x', acknowledge_short: 'x', unsubscribe: 'x' },
    question: 'x',
  },
  webhooks: { tickets: 'x', delivery: 'x', archive: 'x', old: 'x' },
  objective: 'x',
  windows: { certificates: 'x', monthly: 'x' },
};

const both = ['light', 'dark'] as const;
describeLooks('every main page', mainLooks, [{ wide: both, narrow: both }]);

test('every page has a look', () => {
  const looked = pageLooks.map(
    ({ path }) => new URL(typeof path === 'string' ? path : path(nameless), 'http://x').pathname,
  );
  const shape = (path: string): RegExp => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);
  const unseen = pages.filter(
    ({ method, path }) => method === 'GET' && !looked.some((each) => shape(path).test(each)),
  );
  expect(unseen.map(({ path }) => path).toSorted()).toEqual(notLookedAt.toSorted());
});
