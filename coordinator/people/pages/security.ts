import { Refusal } from '../../../shared/base/errors.ts';
import { heading, linkButton, notice, qrCode } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  attempt,
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  textField,
} from '../../web/forms.ts';
import { html, icon, type Part } from '../../web/html.ts';
import {
  type Page,
  type PageAnswer,
  type PersonsRequest,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import {
  addPasskey,
  beginPasskey,
  endSecondFactor,
  listPasskeys,
  proposeSecondFactor,
  removePasskey,
  replaceRecoveryCodes,
  showSecondFactor,
  startSecondFactor,
} from '../contract.ts';
import { totpAddress } from '../second-factor.ts';
import { passkeyForm, proofFirst } from './parts.ts';

const ofProfile = { href: '/profile', name: 'Your profile' };
const trail = [ofProfile, { href: '/profile/passkeys', name: 'Passkeys' }];
const newPath = '/profile/passkeys/new';

const below =
  'A passkey is kept by your phone, your computer or a stick, and signs you in with a finger, your face or a PIN. It takes the place of password and second step.';

export const passkeysPage: Page = {
  method: 'GET',
  path: '/profile/passkeys',
  needs: 'person',
  answer: async ({ askOwn, times, with: { baseUrl } }) => {
    const { items, origin } = await askOwn(listPasskeys);
    const sentence =
      items.length === 0
        ? 'You have no passkey yet.'
        : items.length === 1
          ? 'You have one passkey.'
          : `You have ${items.length} passkeys.`;
    return show({
      title: 'Passkeys',
      place: 'profile',
      main: html`
        ${heading({
          sentence,
          below,
          trail: [ofProfile],
          actions:
            origin !== null && linkButton(newPath, 'Add a passkey', { main: true, symbol: 'add' }),
        })}
        ${
          origin === null &&
          html`
            <p class="soft">
              Passkeys need an address with a name, and https. This installation is at ${baseUrl()};
              whoever runs it can set BASE_URL.
            </p>
          `
        }
        ${
          items.length > 0 &&
          html`
            <div class="table-card">
              <table class="cards">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Kept</th>
                    <th scope="col">Last used</th>
                    <th scope="col">Added</th>
                    <th scope="col"><span class="unseen">Remove it</span></th>
                  </tr>
                </thead>
                <tbody>
                  ${items.map(
                    ({ id, name, is_synced, created_at, last_used_at }) =>
                      html`
                        <tr id="passkey-${id}">
                          <td data-label="Name">${name}</td>
                          <td data-label="Kept">
                            ${is_synced ? 'on your devices' : 'on one device'}
                          </td>
                          <td data-label="Last used">
                            ${last_used_at === null ? 'never yet' : times.ago(last_used_at)}
                          </td>
                          <td data-label="Added">${times.moment(created_at)}</td>
                          <td class="number">
                            <a class="button" href="/profile/passkeys/${id}/remove">
                              Remove<span class="unseen"> ${name}</span>
                            </a>
                          </td>
                        </tr>
                      `,
                  )}
                </tbody>
              </table>
            </div>
          `
        }
      `,
    });
  },
};

const addPage = async ({ askOwn }: PersonsRequest, sent?: FormState): Promise<PageAnswer> => {
  const { origin, suggested_name: name } = await askOwn(listPasskeys);
  if (origin === null) return seeOther('/profile/passkeys');
  const state = sent ?? freshForm(formOf({ name }));
  const field = textField({
    name: 'name',
    label: 'Name',
    required: true,
    autocomplete: 'off',
    state,
    help: 'So that you know later which one it is.',
  });
  const form = passkeyForm({
    does: 'create',
    action: newPath,
    address: newPath,
    origin,
    fields: field,
    verb: 'Make it now',
    symbol: 'tokens',
    main: true,
    beside: linkButton('/profile/passkeys', 'Leave it'),
  });
  return show({
    title: 'Add a passkey',
    place: 'profile',
    status: state.status,
    passkeys: true,
    main: html`
      ${heading({
        sentence: 'Add a passkey',
        below: 'Your browser asks next where it is to be kept.',
        trail,
      })}
      ${formSummary(state)}
      ${form}
    `,
  });
};

export const newPasskeyPage: Page = {
  method: 'GET',
  path: newPath,
  needs: 'person',
  answer: (request) => proofFirst(request) ?? addPage(request),
};

export const newPasskeyOptions: Page = {
  method: 'POST',
  path: '/profile/passkeys/new/options',
  needs: 'person',
  answer: async ({ askOwn }) =>
    send({
      type: 'application/json',
      body: (await askOwn(beginPasskey)).options,
      headers: { 'cache-control': 'no-store' },
    }),
};

export const newPasskey: Page = {
  method: 'POST',
  path: newPath,
  needs: 'person',
  answer: async (request) => {
    const { form, askOwn } = request;
    const input = { name: form.value('name') ?? '', answer: form.value('answer') ?? '' };
    const tried = await attempt(form, () => askOwn(addPasskey, input), ['name']);
    if ('refused' in tried) return addPage(request, tried.refused);
    return seeOther('/profile/passkeys', { said: `${tried.done.name} signs you in from now on.` });
  },
};

const removePath = '/profile/passkeys/:passkey_id/remove';

export const removePasskeyPage: Page = {
  method: 'GET',
  path: removePath,
  needs: 'person',
  answer: async (request) => {
    const { askOwn, path } = request;
    const { items } = await askOwn(listPasskeys);
    const there = items.find(({ id }) => id === path.passkey_id);
    if (!there) return seeOther('/profile/passkeys');
    return (
      proofFirst(request) ??
      show({
        title: 'Remove a passkey',
        place: 'profile',
        main: html`
          ${heading({
            sentence: html`Remove ${there.name}?`,
            below:
              'It signs you in no more. Your device may go on offering it until you remove it there, too.',
            trail,
          })}
          <form class="form" method="post">
            <div class="actions">
              <button class="button button-danger">Remove it</button>
              ${linkButton('/profile/passkeys', 'Leave it')}
            </div>
          </form>
        `,
      })
    );
  },
};

export const dropPasskey: Page = {
  method: 'POST',
  path: removePath,
  needs: 'person',
  answer: async ({ askOwn, path }) => {
    const { name } = await askOwn(removePasskey, { passkey_id: path.passkey_id });
    return seeOther('/profile/passkeys', { said: `${name} signs nobody in any more.` });
  },
};

const [overview, setUpPath] = ['/profile/two-step', '/profile/two-step/set-up'];
const secondFactorTrail = [ofProfile, { href: overview, name: 'Second step' }];
const noStore = { 'cache-control': 'no-store' } as const;

/** A page for a setting that is on or off; the page that does not match redirects to the other. */
const unlessOther = async (answer: () => Promise<PageAnswer>): Promise<PageAnswer> => {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof Refusal && error.code === 'second_factor_on') return seeOther(overview);
    if (error instanceof Refusal && error.code === 'second_factor_off') return seeOther(setUpPath);
    throw error;
  }
};

export const twoStepPage: Page = {
  method: 'GET',
  path: overview,
  needs: 'person',
  answer: async ({ askOwn, times }) => {
    const { on_since, recovery_codes_left: left } = await askOwn(showSecondFactor);
    if (on_since === null) return seeOther(setUpPath);
    return show({
      title: 'Second step',
      place: 'profile',
      main: html`
        ${heading({
          sentence: 'Signing in takes two steps.',
          below: 'The password, then a code of your app. A new password keeps the second step.',
          trail: [ofProfile],
        })}
        ${
          left < 4 &&
          notice(
            'verifying',
            left === 0
              ? 'No recovery code is left.'
              : left === 1
                ? 'One recovery code is left.'
                : `${left} recovery codes are left.`,
            'Get new ones before you need them: without app and codes only whoever runs this installation can let you in.',
          )
        }
        <dl class="card settings">
          <div class="setting">
            <dt>App</dt>
            <dd>Asked for since ${times.moment(on_since)}</dd>
            <dd class="setting-action">${linkButton('/profile/two-step/off', 'Turn off')}</dd>
          </div>
          <div class="setting">
            <dt>Recovery codes</dt>
            <dd>
              ${left} of 10
              left<span class="setting-note">For the day when your phone is away.</span>
            </dd>
            <dd class="setting-action">${linkButton('/profile/two-step/codes', 'New codes')}</dd>
          </div>
        </dl>
      `,
    });
  },
};

/** In groups of four, as people read them aloud and type them. */
const inFours = (secret: string): string => (secret.match(/.{1,4}/g) ?? []).join(' ');

const setUpForm = (
  { signedIn: { person } }: PersonsRequest,
  secret: string,
  state: FormState,
): PageAnswer =>
  show({
    title: 'Set up a second step',
    place: 'profile',
    status: state.status,
    headers: noStore,
    main: html`
      ${heading({
        sentence: 'Set up a second step',
        below:
          'Whoever learns your password then still needs your phone. Any app for one-time codes will do.',
        trail: [ofProfile],
      })}
      ${formSummary(state)}
      <ol class="card steps">
        <li>
          <h2>Point the app’s camera here</h2>
          <div class="qr-beside">
            ${qrCode(totpAddress(secret, person.email), 'The secret below, as a QR code')}
            <div>
              <p>Or type this secret into it:</p>
              <p class="copyable">
                <code id="totp-secret">${inFours(secret)}</code>
                <button class="button" type="button" data-copy="${secret}" hidden>
                  ${icon('copy')}Copy
                </button>
              </p>
            </div>
          </div>
        </li>
        <li>
          <h2>Type the code that it shows</h2>
          <form class="form" method="post">
            ${hiddenField('secret', secret)}
            ${textField({
              name: 'code',
              label: 'Code',
              autocomplete: 'one-time-code',
              inputmode: 'numeric',
              required: true,
              help: 'Six digits; a new one every half minute.',
              state,
            })}
            <div class="actions">
              <button class="button button-main">Turn it on</button>
              ${linkButton('/profile', 'Leave it')}
            </div>
          </form>
        </li>
      </ol>
    `,
  });

export const setUpPage: Page = {
  method: 'GET',
  path: setUpPath,
  needs: 'person',
  answer: (request) =>
    unlessOther(async () => {
      const { on_since } = await request.askOwn(showSecondFactor);
      if (on_since !== null) return seeOther(overview);
      const wait = proofFirst(request);
      if (wait) return wait;
      const { secret } = await request.askOwn(proposeSecondFactor);
      return setUpForm(request, secret, freshForm(formOf({})));
    }),
};

/** Shown once: only their fingerprints are stored. */
const codesPage = (sentence: Part, codes: readonly string[]): PageAnswer =>
  show({
    title: 'Recovery codes',
    place: 'profile',
    headers: noStore,
    main: html`
      ${heading({
        sentence,
        below:
          'Keep these ten codes where your phone is not. Each signs you in once, when the app is away.',
        trail: secondFactorTrail,
      })}
      <div class="card stack">
        <pre class="codes" id="recovery-codes">${codes.join('\n')}</pre>
        <p class="actions">
          <button class="button" type="button" data-copy="#recovery-codes" hidden>
            ${icon('copy')}Copy
          </button>
          ${linkButton('/profile', 'I have kept them', { main: true })}
        </p>
        ${notice(
          'information',
          'They are shown only now.',
          'Whoever has one and your password can sign in as you. New ones end all of these.',
        )}
      </div>
    `,
  });

export const setUp: Page = {
  method: 'POST',
  path: setUpPath,
  needs: 'person',
  answer: (request) =>
    unlessOther(async () => {
      const { form, askOwn } = request;
      const secret = form.value('secret') ?? '';
      const tried = await attempt(
        form,
        () => askOwn(startSecondFactor, { secret, code: form.value('code') ?? '' }),
        ['code'],
      );
      if ('done' in tried)
        return codesPage('Signing in takes two steps now.', tried.done.recovery_codes);
      const { on_since } = await askOwn(showSecondFactor);
      return on_since === null ? setUpForm(request, secret, tried.refused) : seeOther(overview);
    }),
};

/** A page that asks for confirmation. */
const question = (
  request: PersonsRequest,
  asked: {
    readonly sentence: string;
    readonly below: Part;
    readonly verb: string;
    readonly isEnd: boolean;
  },
): PageAnswer =>
  proofFirst(request) ??
  show({
    title: asked.sentence,
    place: 'profile',
    main: html`
      ${heading({ sentence: asked.sentence, below: asked.below, trail: secondFactorTrail })}
      <form class="form" method="post">
        <div class="actions">
          <button class="button ${asked.isEnd ? 'button-danger' : 'button-main'}">
            ${asked.verb}
          </button>
          ${linkButton(overview, 'Leave it')}
        </div>
      </form>
    `,
  });

export const newCodesPage: Page = {
  method: 'GET',
  path: '/profile/two-step/codes',
  needs: 'person',
  answer: (request) =>
    question(request, {
      sentence: 'Ten new recovery codes',
      below: 'Those that you have end at once.',
      verb: 'Show me new ones',
      isEnd: false,
    }),
};

export const newCodes: Page = {
  method: 'POST',
  path: '/profile/two-step/codes',
  needs: 'person',
  answer: ({ askOwn }) =>
    unlessOther(async () =>
      codesPage('Your new recovery codes', (await askOwn(replaceRecoveryCodes)).recovery_codes),
    ),
};

export const turnOffPage: Page = {
  method: 'GET',
  path: '/profile/two-step/off',
  needs: 'person',
  answer: (request) =>
    question(request, {
      sentence: 'Turn the second step off?',
      below: 'Then your password alone signs you in, and the recovery codes end.',
      verb: 'Turn it off',
      isEnd: true,
    }),
};

export const turnOff: Page = {
  method: 'POST',
  path: '/profile/two-step/off',
  needs: 'person',
  answer: ({ askOwn }) =>
    unlessOther(async () => {
      await askOwn(endSecondFactor);
      return seeOther('/profile', { said: 'Signing in takes your password alone now.' });
    }),
};
