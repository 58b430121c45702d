import { describe, expect, test } from 'vitest';
import { handlers } from '../../../coordinator/operations.ts';
import { pages } from '../../../coordinator/pages.ts';
import type { Page } from '../../../coordinator/web/page.ts';
import { operations } from '../../../shared/api/index.ts';
import { InvalidInput, isReadOnly, type Operation } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';

/**
 * The API can do what pages can: each act of a page is an operation of the API, or stands here with
 * the reason why a program does not get it.
 */

/** Acts that pages alone have. */
const pagesOnly: Readonly<Record<string, string>> = {
  ...because('who signs in is a person, with a browser', [
    ...['signIn', 'finishSignIn', 'signInByPasskey', 'enter', 'signOut'],
    ...['finishProviderSignIn'],
    ...['proveAgain', 'proveByPasskey'],
    ...['signUp', 'finishSignUp', 'verifyEmail', 'requestPasswordReset', 'resetPassword'],
  ]),
  ...because('it changes how a person signs in: a stolen token must not take an account over', [
    ...['addPasskey', 'removePasskey', 'changePassword', 'changeEmail', 'keepEmail'],
    ...['startSecondFactor', 'replaceRecoveryCodes', 'endSecondFactor'],
    ...['endSession', 'endOtherSessions', 'updateProfile', 'disconnectProvider'],
  ]),
  ...because('it decides who may act: a stolen token must not give itself company', [
    ...['createUser', 'createToken', 'connectAssistant', 'disconnectAssistant'],
    ...['acceptInvitation'],
    ...['leaveOrganisation', 'switchOrganisation', 'foundOrganisation'],
  ]),
  ...because('it is about the whole organisation, and a person proves who they are first', [
    ...['endOrganisation', 'keepOrganisation', 'updateOrganisation', 'beginExport'],
    ...['setSignInProvider', 'checkSignInDomain', 'removeSignInProvider'],
    ...['setScimToken', 'endScimToken'],
  ]),
  ...because('it authorises itself by a link that a message carries', [
    ...['acknowledgeByLink', 'confirmChannel', 'unsubscribe', 'leaveReportMail'],
  ]),
  endProviderSessions: 'a provider signs it, and needs no key of ours',
  ...because('it is how a person looks at pages', [...['hideFirstSteps']]),
  ...because('it is for the operator, who has commands', ['dropSetAside', 'retrySetAside']),
  changeMonitors: 'batchMonitors, updateMonitor, muteMonitor and deleteMonitor do it',
  ...because('programs read a service by `antipode import`, and apply and prune its file', [
    ...['previewImport', 'applyImport', 'undoImport'],
  ]),
  undoChange: 'a program knows what it changed, and changes it back',
  purgeMonitor: 'it is for ever, and goes by itself after seven days',
  rotateBeatAddress: 'its answer is an address that is shown to people alone; operators have it',
  setMonitorChannels: 'updateChannel chooses the monitors of a channel',
  askMailbox: 'createChannel and updateChannel ask; again it needs someone who looks for the mail',
  tryChannel: 'createChannel tests before it saves, and testChannel after',
  setStatusPageLogo: 'a picture is chosen by eye, once',
  removeStatusPageLogo: 'as it was chosen',
};

/** Posts without an act, or whose act this test does not reach: the operations, or why none. */
const byHand: Readonly<Record<string, readonly string[] | string>> = {
  '/preferences': 'preferences of the browser, in cookies',
  '/sign-in/passkey/options': 'a challenge, which ends by itself',
  '/join/:secret/options': 'a challenge, which ends by itself',
  '/confirm/passkey/options': 'a challenge, which ends by itself',
  '/profile/passkeys/new/options': 'a challenge, which ends by itself',
  '/profile/providers/:provider/connect': 'a secret of a browser, which ends by itself',
  '/sign-in/provider': 'it looks for a provider',
  '/connect/:secret': ['connectAssistant'],
  '/sign-in/second-step': ['finishSignIn'],
  '/monitors/:monitor_id/edit': ['updateMonitor', 'setMonitorChannels', 'createTest'],
  '/monitors/:monitor_id/leave-out': ['updateMonitor'],
  '/reports/share': ['shareReport'],
  '/alerts/new': ['createChannel', 'tryChannel'],
  '/alerts/this-browser': ['createChannel'],
  '/alerts/this-browser/test': ['tryChannel'],
  '/confirm-channel/:secret': ['confirmChannel'],
  '/status-pages/:page_id': ['updateStatusPage', 'renewStatusPageLink', 'checkStatusPageDomain'],
  '/status-pages/:page_id/delete': ['deleteStatusPage'],
  '/probes/:probe_id/end': ['endProbe'],
  '/members/invitations/:invitation_id/renew': ['inviteMember'],
};

const posts = pages.filter(({ method }) => method === 'POST');

test.each(posts.map((page) => [page.path, page] as const))(
  'POST %s acts by an operation of the API, or says why not',
  async (path, page) => {
    const said = byHand[path];
    const acts = said === undefined ? await actsOf(page) : typeof said === 'string' ? [] : said;
    if (typeof said !== 'string') expect(acts, 'it acts by no operation').not.toEqual([]);
    expect(
      acts.filter((id) => !Object.hasOwn(operations, id) && !Object.hasOwn(pagesOnly, id)),
    ).toEqual([]);
  },
);

describe('every operation', () => {
  const ofPeople = [handlers.organisation, handlers.person, handlers.anonymous].flatMap((table) =>
    Object.values<{ readonly operation: Operation }>(table).map(({ operation }) => operation),
  );

  test('that changes something is one of the API, or has its reason', () => {
    // A probe joins by it; no page has it.
    // Steps of applyFile.
    // A provider calls the last two by its own token.
    const others = ['enrolProbe', 'putGroups', 'putMonitors', 'provisionUser', 'provisionGroup'];
    const known = [...Object.keys(operations), ...Object.keys(pagesOnly), ...others];
    expect(
      ofPeople
        .filter((operation) => !isReadOnly(operation))
        .map(({ id }) => id)
        .filter((id) => !known.includes(id)),
    ).toEqual([]);
  });

  test('that has a reason is none of the API, and is there', () => {
    const there = [...ofPeople.map(({ id }) => id), ...Object.keys(handlers.operator)];
    const stale = Object.keys(pagesOnly).filter(
      (id) => Object.hasOwn(operations, id) || !there.includes(id),
    );
    expect(stale).toEqual([]);
    expect(Object.keys(byHand).filter((path) => posts.every((page) => page.path !== path))).toEqual(
      [],
    );
  });
});

test('an act that is no operation of the API is found', async () => {
  const unknown = { ...operations.deleteMonitor, id: 'paintMonitor' };
  const page: Page = {
    method: 'POST',
    path: '/monitors/:monitor_id/paint',
    needs: 'member',
    answer: async ({ ask, path }) => {
      await ask(unknown, { monitor_id: path.monitor_id });
      return { is: 'see-other', to: '/' };
    },
  };
  expect(await actsOf(page)).toEqual(['paintMonitor']);
});

function because(reason: string, ids: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ids.map((id) => [id, reason]));
}

/** The operations that a page asks to act when its form is sent, whatever they answer. */
async function actsOf(page: Page): Promise<readonly string[]> {
  const acts = new Set<string>();
  const ask = async (operation: Operation): Promise<unknown> => {
    if (!isReadOnly(operation)) acts.add(operation.id);
    return standIn();
  };
  const asks = { ask, askOwn: ask, askAsVisitor: ask, askHouse: ask };
  const id = '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31';
  const request = {
    ...asks,
    path: Object.fromEntries([...page.path.matchAll(/:(\w+)/g)].map(([, name]) => [name, id])),
    query: {},
    form: { value: () => '1', values: () => ['1'], names: ['name'] },
    address: page.path,
    now: 0,
    may: () => true,
    file: async () => new Uint8Array([1]),
  };
  const whole = new Proxy(request, {
    get: (of, key) => (key in of ? Reflect.get(of, key) : standIn()),
  });
  try {
    // It stands for the request of any page: whatever one reads of it is there.
    await page.answer(whole as never);
  } catch (error) {
    // What follows the act may stumble over what the stand-in says.
    if (!(error instanceof TypeError || error instanceof Refusal || error instanceof InvalidInput))
      throw error;
  }
  return [...acts];
}

/** Anything: a text, a number, a list of one, a function, or an object that has every member. */
function standIn(depth = 0): object {
  const deeper = () => standIn(depth + 1);
  return new Proxy(() => undefined, {
    apply: deeper,
    get: (_, key): unknown => {
      // It is no promise.
      if (key === 'then') return undefined;
      if (key === Symbol.toPrimitive || key === 'toString') return () => '1';
      if (key === Symbol.iterator) return () => (depth < 3 ? [deeper()] : []).values();
      if (key === 'length') return 1;
      if (key === 'find') return deeper;
      const list: readonly unknown[] = [deeper()];
      const ofList: unknown = Reflect.get(list, key);
      return typeof ofList === 'function' ? ofList.bind(list) : deeper();
    },
  });
}
