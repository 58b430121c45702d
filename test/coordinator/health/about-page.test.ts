import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawInput } from '../../../shared/api/operation.ts';
import { createStatusPage } from '../../../shared/api/status-pages.ts';
import { ownRecordOfTest, startWeb, type TestWeb } from '../../support/web.ts';

/** The page about the installation itself is open to whom the operator wants, and only they are led to it. */

let web: TestWeb;
let readers: 'everyone' | 'users' | 'nobody';
beforeAll(async () => {
  web = await startWeb({
    ownRecord: (isSignedIn) => (readers === 'everyone' || (readers === 'users' && isSignedIn) ? ownRecordOfTest : undefined),
  });
  await web.sql`update users set is_operator = true where id = ${web.house.owner.user}`;
});
afterAll(() => web.close());

const links = async (path: string, isSignedIn: boolean): Promise<number> => {
  const { text } = await web.get(path, isSignedIn ? { as: web.house.owner } : {});
  return [...text.matchAll(/href="\/about"/g)].length;
};

test.each([
  ['everyone', [1, 1, 2, 0]],
  ['users', [0, 1, 2, 0]],
  ['nobody', [0, 0, 0, 0]],
] as const)('where it is open to %s, they find it below every page, and operators on theirs', async (open, expected) => {
  readers = open;
  expect([await links('/sign-in', false), await links('/', true), await links('/operator', true), await links('/about', true)]).toEqual(
    expected,
  );
});

test('a status page leads there in its foot, in its language, where it is open to everyone and only there', async () => {
  await web.gate.execute(createStatusPage, web.house.owner.caller, rawInput(createStatusPage, { name: 'Shop', slug: 'shop' }));
  for (const open of ['everyone', 'users', 'nobody'] as const) {
    readers = open;
    for (const [path, words] of [
      ['/status/shop', 'How well this service does'],
      ['/status/shop/measured?lang=de', 'Wie gut dieser Dienst arbeitet'],
    ] as const) {
      const { text } = await web.get(path, { as: web.house.owner });
      expect([open, text.includes(`<a href="${web.url}/about">${words}</a>`), text.includes('/about')]).toEqual([
        open,
        open === 'everyone',
        open === 'everyone',
      ]);
    }
  }
});
