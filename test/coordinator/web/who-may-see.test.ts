import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pages } from '../../../coordinator/pages.ts';
import { insertMembers, insertUsers } from '../../../coordinator/people/queries.ts';
import type { Page } from '../../../coordinator/web/page.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { connectAssistant } from '../../support/assistants.ts';
import { type Demo, seedDemo } from '../../support/demo.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
} from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';
import { ofTheAccount } from './who-may-see-account.ts';

/**
 * Every page, for everybody who may come to it: who is let in, who is sent away, and who learns
 * nothing.
 */

const who = ['stranger', 'removed', 'elsewhere', 'viewer', 'member', 'admin', 'owner'] as const;
type Who = (typeof who)[number];

/**
 * What each is answered, in the order of `who`. `in`: to the sign-in. `ok`: a page, or a form that
 * was taken or came back with a remark.
 * `elsewhere` owns another organisation; `removed` belongs to none any more.
 */
const members = 'in 403 ok ok ok ok ok';
/** Of a thing of the organisation: elsewhere it does not exist. */
const ofOurs = 'in 403 404 ok ok ok ok';
const writersOfOurs = 'in 403 404 403 ok ok ok';
const writers = 'in 403 ok 403 ok ok ok';
const managersOfOurs = 'in 403 404 403 403 ok ok';
const managers = 'in 403 ok 403 403 ok ok';
const persons = 'in ok ok ok ok ok ok';
const everybody = 'ok ok ok ok ok ok ok';
/** A secret of nobody, in its address. */
const unknown = '404 404 404 404 404 404 404';

const expected: Readonly<Record<string, string>> = {
  'GET /': 'ok 403 ok ok ok ok ok',
  'POST /monitors/change': members,
  'POST /monitors/undo': members,
  'GET /import': writers,
  'POST /import/file': writers,
  'POST /import/key': writers,
  'GET /import/:import_id': 'in 403 404 403 404 404 404',
  'POST /import/:import_id/apply': 'in 403 404 403 404 404 404',
  'POST /import/:import_id/undo': 'in 403 404 403 404 404 404',
  'GET /search': members,
  'GET /shortcuts': members,
  'GET /incidents': members,
  'GET /incidents/:incident_id': ofOurs,
  'POST /incidents/:incident_id/acknowledge': writersOfOurs,
  'POST /incidents/:incident_id/hand-back': writersOfOurs,
  // Sent without the member to assign it to.
  'POST /incidents/:incident_id/assign': 'in 403 404 403 404 404 404',
  'POST /incidents/:incident_id/post-mortem': writersOfOurs,
  'POST /incidents/:incident_id/notes': writersOfOurs,
  'POST /incidents/:incident_id/share': writersOfOurs,
  // The first who may ends the link; after that there is none.
  'POST /incidents/:incident_id/share/withdraw': 'in 403 404 403 ok 404 404',
  'GET /monitors/:monitor_id': ofOurs,
  'GET /monitors/:monitor_id/checks': ofOurs,
  // There is none.
  'GET /monitors/:monitor_id/check': 'in 403 404 404 404 404 404',
  'POST /monitors/:monitor_id/address/rotate': writersOfOurs,
  'GET /monitors/new': writers,
  'POST /monitors/new': writers,
  'GET /monitors/:monitor_id/edit': writersOfOurs,
  'POST /monitors/:monitor_id/edit': writersOfOurs,
  'POST /monitors/:monitor_id/mute': writersOfOurs,
  'POST /monitors/:monitor_id/unmute': writersOfOurs,
  'POST /monitors/:monitor_id/leave-out': writersOfOurs,
  'GET /monitors/:monitor_id/pause': writersOfOurs,
  'POST /monitors/:monitor_id/pause': writersOfOurs,
  'GET /monitors/:monitor_id/resume': writersOfOurs,
  'POST /monitors/:monitor_id/resume': writersOfOurs,
  'GET /monitors/trash': members,
  'GET /certificates': members,
  'GET /monitors/:monitor_id/delete': writersOfOurs,
  'GET /maintenance': members,
  'GET /maintenance/new': writers,
  'POST /maintenance/new': writers,
  'GET /maintenance/:window_id': ofOurs,
  'GET /maintenance/:window_id/edit': writersOfOurs,
  'POST /maintenance/:window_id/edit': writersOfOurs,
  // Who is slower than another is told that there is nothing to begin or end.
  'POST /maintenance/:window_id/start': writersOfOurs,
  'POST /maintenance/:window_id/end': writersOfOurs,
  'GET /maintenance/:window_id/delete': writersOfOurs,
  // The first who may deletes it; after that there is none.
  'POST /maintenance/:window_id/delete': 'in 403 404 403 ok 404 404',
  'GET /reports': members,
  'GET /reports.csv': members,
  'POST /reports/share': writers,
  // The first who may revokes it; after that there is none.
  'POST /reports/shares/:share_id/withdraw': 'in 403 404 403 ok 404 404',
  'POST /reports/mail': members,
  // Of the owner.
  'POST /reports/mails/:mail_id/end': 'in 403 404 404 404 404 ok',
  'GET /objectives': members,
  'GET /objectives/new': writers,
  'POST /objectives/new': writers,
  'GET /objectives/:objective_id': ofOurs,
  'GET /objectives/:objective_id/edit': writersOfOurs,
  'POST /objectives/:objective_id/edit': writersOfOurs,
  'GET /objectives/:objective_id/delete': writersOfOurs,
  // The first who may deletes it; after that there is none.
  'POST /objectives/:objective_id/delete': 'in 403 404 403 ok 404 404',
  'GET /groups': members,
  'GET /groups/new': writers,
  'POST /groups/new': writers,
  'GET /groups/:group_id': ofOurs,
  'GET /groups/:group_id/add': writersOfOurs,
  'POST /groups/:group_id/add': writersOfOurs,
  'GET /groups/:group_id/edit': writersOfOurs,
  'POST /groups/:group_id/edit': writersOfOurs,
  'GET /groups/:group_id/delete': writersOfOurs,
  // The first who may deletes it; after that there is none.
  'POST /groups/:group_id/delete': 'in 403 404 403 ok 404 404',
  'GET /probes': members,
  'GET /alerts': members,
  'POST /alerts/mute': writers,
  'POST /alerts/unmute': writers,
  'GET /alerts/new': writers,
  'POST /alerts/new': writers,
  'GET /alerts/this-browser': writers,
  'POST /alerts/this-browser': writers,
  'POST /alerts/this-browser/test': writers,
  'GET /alerts/:channel_id': ofOurs,
  // It belongs to the organisation: members change their own alone.
  'GET /alerts/:channel_id/edit': managersOfOurs,
  'POST /alerts/:channel_id/edit': managersOfOurs,
  'POST /alerts/:channel_id/test': managersOfOurs,
  'POST /alerts/:channel_id/ask': managersOfOurs,
  'GET /alerts/:channel_id/messages/:message_id': ofOurs,
  'GET /alerts/:channel_id/delete': managersOfOurs,
  // The first who may deletes it; after that there is none.
  'POST /alerts/:channel_id/delete': 'in 403 404 403 403 ok 404',
  'GET /status-pages': members,
  'GET /status-pages/new': writers,
  'POST /status-pages/new': writers,
  'GET /status-pages/:page_id': ofOurs,
  'POST /status-pages/:page_id': writersOfOurs,
  'GET /status-pages/:page_id/subscribers': writersOfOurs,
  'POST /status-pages/:page_id/subscribers/:subscriber_id/remove': writersOfOurs,
  'POST /status-pages/:page_id/logo': writersOfOurs,
  // There is none.
  'GET /status-pages/:page_id/logo': 'in 403 404 404 404 404 404',
  'POST /status-pages/:page_id/logo/remove': writersOfOurs,
  'GET /status-pages/:page_id/incidents/:incident_id': ofOurs,
  'POST /status-pages/:page_id/incidents/:incident_id': writersOfOurs,
  'POST /status-pages/:page_id/incidents/:incident_id/posts/:post_id/delete':
    'in 403 404 403 404 404 404',
  'GET /status-pages/:page_id/reports/new': writersOfOurs,
  'POST /status-pages/:page_id/reports/new': writersOfOurs,
  'GET /status-pages/:page_id/reports/:report_id': writersOfOurs,
  'POST /status-pages/:page_id/reports/:report_id': writersOfOurs,
  // The first who may deletes it.
  'POST /status-pages/:page_id/reports/:report_id/delete': 'in 403 404 403 ok 404 404',
  'GET /status-pages/:page_id/delete': writersOfOurs,
  // Without its name typed it stays.
  'POST /status-pages/:page_id/delete': writersOfOurs,
  'GET /acknowledge/:secret': unknown,
  'POST /acknowledge/:secret': unknown,
  'GET /a/:secret': unknown,
  'POST /a/:secret': unknown,
  'GET /unsubscribe/:secret': unknown,
  'POST /unsubscribe/:secret': unknown,
  'GET /confirm-channel/:secret': unknown,
  'POST /confirm-channel/:secret': unknown,
  'GET /shared/incidents/:secret': unknown,
  'GET /shared/reports/:secret': unknown,
  'GET /reports/leave/:secret': unknown,
  'POST /reports/leave/:secret': unknown,
  'GET /about': everybody,
  'GET /docs': everybody,
  'GET /docs/:name': everybody,
  'GET /llms.txt': everybody,
  'POST /preferences': everybody,
  'GET /sign-in': everybody,
  'POST /sign-in': everybody,
  // Without a right password a moment ago there is no second step.
  'GET /sign-in/second-step': 'in in in in in in in',
  'POST /sign-in/second-step': 'in in in in in in in',
  'POST /sign-in/passkey/options': everybody,
  'POST /sign-in/passkey': everybody,
  'POST /confirm/passkey/options': persons,
  'POST /confirm/passkey': persons,
  'GET /sign-out': persons,
  'POST /sign-out': everybody,
  'GET /enter/:secret': everybody,
  'POST /enter/:secret': unknown,
  'GET /confirm': persons,
  'POST /confirm': persons,
  'GET /sign-in/provider': everybody,
  'POST /sign-in/provider': everybody,
  'GET /sign-in/provider/:provider': unknown,
  'GET /sign-in/provider/:provider/answer': unknown,
  'POST /sign-in/provider/:provider/logout': unknown,
  'GET /sign-up': everybody,
  'POST /sign-up': everybody,
  'GET /finish/:secret': unknown,
  'POST /finish/:secret': unknown,
  'GET /forgot': everybody,
  'POST /forgot': everybody,
  'GET /reset/:secret': unknown,
  'POST /reset/:secret': unknown,
  'GET /verify/:secret': 'in 404 404 404 404 404 404',
  'POST /verify/:secret': 'in 404 404 404 404 404 404',
  'GET /keep/:secret': unknown,
  'POST /keep/:secret': unknown,
  'GET /join/:secret': unknown,
  'POST /join/:secret/options': unknown,
  'POST /join/:secret': 'in 404 404 404 404 404 404',
  'GET /profile': persons,
  'GET /profile/name': persons,
  'POST /profile/name': persons,
  'GET /profile/email': persons,
  'POST /profile/email': persons,
  'GET /profile/password': persons,
  'POST /profile/password': persons,
  'GET /profile/two-step': persons,
  'GET /profile/two-step/set-up': persons,
  'POST /profile/two-step/set-up': persons,
  'GET /profile/two-step/codes': persons,
  'POST /profile/two-step/codes': persons,
  'GET /profile/two-step/off': persons,
  'POST /profile/two-step/off': persons,
  'GET /profile/passkeys': persons,
  'GET /profile/passkeys/new': persons,
  'POST /profile/passkeys/new/options': persons,
  'POST /profile/passkeys/new': persons,
  'GET /profile/passkeys/:passkey_id/remove': persons,
  // Nobody has one here.
  'POST /profile/passkeys/:passkey_id/remove': 'in 404 404 404 404 404 404',
  'GET /profile/providers': persons,
  'POST /profile/providers/:provider/connect': 'in 404 404 404 404 404 404',
  'POST /profile/providers/:provider/disconnect': 'in 404 404 404 404 404 404',
  'GET /profile/sessions': persons,
  'POST /profile/sessions': persons,
  'POST /profile/sessions/:session_id/end': 'in 404 404 404 404 404 404',
  'GET /members': members,
  // Who may not invite is told who may.
  'GET /members/invite': members,
  'POST /members/invite': managers,
  'POST /members/invitations/:invitation_id/withdraw': 'in 403 404 403 403 404 404',
  ...ofTheAccount,
  // An operator, who is none of these, has tests of their own.
  'GET /operator': unknown,
  'GET /operator/set-aside/:set_aside_id': unknown,
  'GET /operator/set-aside/:set_aside_id/delete': unknown,
  'POST /operator/set-aside/:set_aside_id/delete': unknown,
  'POST /operator/set-aside/:set_aside_id/retry': unknown,
  'GET /favicon.svg': everybody,
  'GET /favicon.ico': everybody,
  'GET /robots.txt': everybody,
  'GET /.well-known/security.txt': everybody,
  'GET /manifest.webmanifest': everybody,
  'POST /monitors/:monitor_id/delete': 'in 403 404 403 ok 404 404',
  'POST /monitors/trash/:monitor_id/restore': 'in 403 404 403 ok 404 404',
  'GET /monitors/trash/:monitor_id/delete': 'in 403 404 403 404 404 404',
  'POST /monitors/trash/:monitor_id/delete': 'in 403 404 403 404 404 404',
};

let web: TestWeb;
let demo: Demo;
let elsewhere: TestOrganisation;
let removed: Person;
/** The owner's. */
let token: string;
let connection: string;
/** A viewer whom nobody here is. */
let spare: string;
beforeAll(async () => {
  web = await startWeb();
  demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  elsewhere = await createTestOrganisation(web.sql, { name: 'Elsewhere' });
  removed = (await createTestOrganisation(web.sql)).member;
  await web.sql`delete from memberships where user_id = ${removed.user}`;
  token = web.house.owner.caller.token?.id ?? '';
  connection = (await connectAssistant(web.sql, web.house.owner, { baseUrl: web.url })).connection;
  spare = newId();
  await insertUsers(web.sql, { id: spare, email: `${spare}@example.org`, password_hash: 'none' });
  await insertMembers(web.sql, web.house.organisation, { user: spare, role: 'viewer' });
});
afterAll(() => web.close());

const personOf = (each: Who): Person | undefined => {
  if (each === 'stranger') return undefined;
  if (each === 'removed') return removed;
  return each === 'elsewhere' ? elsewhere.owner : web.house[each];
};

const standsFor: Readonly<Record<string, () => string>> = {
  name: () => 'start',
  monitor_id: () => demo.idOf('Checkout'),
  incident_id: () => demo.incident,
  window_id: () => demo.windows.certificates,
  group_id: () => demo.groupOf('Stores'),
  channel_id: () => demo.channels.pager,
  message_id: () => demo.channels.message,
  page_id: () => demo.page.id,
  post_id: newId,
  subscriber_id: newId,
  report_id: () => demo.page.report,
  share_id: () => demo.reportShare.id,
  mail_id: () => demo.reportMail.id,
  session_id: newId,
  passkey_id: newId,
  provider: newId,
  invitation_id: newId,
  token_id: () => token,
  connection_id: () => connection,
  member_id: () => spare,
  probe_invitation_id: newId,
  import_id: newId,
  day: () => '2026-11-20',
  probe_id: newId,
  ping_key_id: newId,
  objective_id: () => demo.objective,
  webhook_id: () => demo.webhooks.tickets,
  delivery_id: () => demo.webhooks.delivery,
  set_aside_id: () => '1',
  secret: () => 'x'.repeat(43),
};
const addressOf = (path: string): string =>
  // The channel that the message went to; others are free to be deleted here.
  path
    .replace(':channel_id/messages', `${demo.channels.ops}/messages`)
    .replace(/:(\w+)/g, (_, name: string) => {
      const id = standsFor[name];
      if (!id)
        throw new Error(`this test does not know what :${name} stands for: name one of the demo`);
      return id();
    });

const ask = async ({ method, path }: Page, as: Person | undefined) => {
  const asked = as ? { as } : {};
  return method === 'GET'
    ? web.get(addressOf(path), asked)
    : web.post(addressOf(path), {}, { ...asked, headers: { 'sec-fetch-site': 'same-origin' } });
};

const wordOf = ({ status, headers }: Awaited<ReturnType<typeof ask>>): string => {
  if (status === 303 && headers.get('location')?.startsWith('/sign-in')) return 'in';
  return [200, 303, 400].includes(status) ? 'ok' : `${status}`;
};

const nameOf = ({ method, path }: Page): string => `${method} ${path}`;

const inOrder = Object.keys(expected).flatMap((name) =>
  pages.filter((each) => nameOf(each) === name),
);

test('every page is here, and nothing that is no page', () => {
  expect(pages.map(nameOf).toSorted()).toEqual(Object.keys(expected).toSorted());
});

describe('every role', () => {
  // Whoever signs out is a stranger after, and who leaves is no member any more:
  // pages/settings.test.ts has them leave. In the order of the table: what is deleted by one page
  // is gone for the next.
  for (const page of inOrder.filter(
    (each) => each.path !== '/sign-out' && nameOf(each) !== 'POST /members/leave',
  ))
    test(`gets what it may see by ${nameOf(page)}`, async () => {
      const answers: string[] = [];
      for (const each of who) answers.push(wordOf(await ask(page, personOf(each))));
      expect(answers.join(' ')).toBe(expected[nameOf(page)]);
    });

  test('of another organisation reads nothing of ours on any page', async () => {
    const ours = [web.house.name, web.house.owner.email, 'Checkout', 'Store Osaka', demo.incident];
    for (const page of pages.filter(
      ({ method, path }) => method === 'GET' && path !== '/sign-out',
    )) {
      // What they asked for stands in the address of the page, and so in the form that leads back
      // to it.
      const text = (await ask(page, elsewhere.owner)).text.replaceAll(addressOf(page.path), '');
      for (const each of ours)
        expect([nameOf(page), each, text.includes(each)]).toEqual([nameOf(page), each, false]);
    }
  });
});

describe('a form', () => {
  for (const page of pages.filter((each) => each.method === 'POST' && !('fromAnywhere' in each)))
    test(`that another site sends to ${page.path} is refused, whichever user is signed in`, async () => {
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { origin: 'https://evil.example' },
      ]) {
        const { status, text } = await web.post(addressOf(page.path), {}, { as: 'owner', headers });
        expect(status).toBe(403);
        expect(text).toContain('this form came from another site');
      }
    });
});
