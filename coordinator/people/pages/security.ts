import { Refusal } from '../../../shared/base/errors.ts';
import { confirm } from '../../web/confirm.ts';
import { heading, linkButton, nothing, notice, qrCode, rowAct } from '../../web/elements.ts';
import { notFoundAnswer } from '../../web/failures.ts';
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
  forPersons,
  type PageAnswer,
  type PersonsRequest,
  seeOther,
  show,
} from '../../web/page.ts';
import { acts, table } from '../../web/tables.ts';
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
import { optionsAnswer, passkeyForm, proofFirst } from './parts.ts';

const ofProfile = { href: '/profile', name: 'Your profile' };
const trail = [ofProfile, { href: '/profile/passkeys', name: 'Passkeys' }];
const newPath = '/profile/passkeys/new';

const below =
  'A passkey on your phone, your computer or a security key signs you in with a fingerprint, your face or a PIN. It replaces your password and two-step verification.';

export const passkeysPage = forPersons.get(
  '/profile/passkeys',
  async ({ askOwn, times, with: { baseUrl } }) => {
    const { items, origin } = await askOwn(listPasskeys);
    const sentence =
      items.length === 0
        ? 'No passkeys yet'
        : items.length === 1
          ? 'One passkey'
          : `${items.length} passkeys`;
    const add =
      origin !== null && linkButton(newPath, 'Add passkey', { main: true, symbol: 'add' });
    return show({
      title: 'Passkeys',
      place: 'profile',
      main: html`
        ${heading({
          sentence,
          below: items.length > 0 && below,
          trail: [ofProfile],
          actions: items.length > 0 && add,
        })}
        ${
          origin === null &&
          html`
            <p class="soft">
              Passkeys need HTTPS and a host name. This installation is at ${baseUrl()}; its operator
              can set BASE_URL.
            </p>
          `
        }
        ${items.length === 0 && nothing('tokens', below, add)}
        ${table(
          items.map(({ id, name, is_synced, created_at, last_used_at }) => ({
            id: `passkey-${id}`,
            Name: name,
            Stored: is_synced ? 'on your devices' : 'on one device',
            'Last used': last_used_at === null ? 'Never' : times.ago(last_used_at),
            Added: times.moment(created_at),
            Remove: acts(
              rowAct({
                symbol: 'delete',
                words: 'Remove',
                of: name,
                href: `/profile/passkeys/${id}/remove`,
              }),
            ),
          })),
        )}
      `,
    });
  },
);

export const newPasskeyPages = forPersons.form(newPath, async (request) => {
  const { askOwn, form } = request;
  const { origin, suggested_name } = await askOwn(listPasskeys);
  return {
    fresh: () => proofFirst(request) ?? formOf({ name: suggested_name }),
    shown: (state) => (origin === null ? seeOther('/profile/passkeys') : addPage(origin, state)),
    fields: ['name'],
    act: async () => {
      const input = { name: form.value('name') ?? '', answer: form.value('answer') ?? '' };
      const { name } = await askOwn(addPasskey, input);
      return seeOther('/profile/passkeys', { said: `Passkey ${name} added.` });
    },
  };
});

function addPage(origin: string, state: FormState): PageAnswer {
  const field = textField({
    name: 'name',
    label: 'Name',
    required: true,
    autocomplete: 'off',
    state,
    help: 'Helps you tell your passkeys apart.',
  });
  const form = passkeyForm({
    does: 'create',
    action: newPath,
    address: newPath,
    origin,
    fields: field,
    verb: 'Create passkey',
    symbol: 'tokens',
    main: true,
    beside: linkButton('/profile/passkeys', 'Cancel'),
  });
  return show({
    title: 'Add a passkey',
    place: 'profile',
    status: state.status,
    passkeys: true,
    main: html`
      ${heading({
        sentence: 'Add a passkey',
        below: 'Your browser asks where to store it.',
        trail,
      })}
      ${formSummary(state)}
      ${form}
    `,
  });
}

export const newPasskeyOptions = forPersons.post(
  '/profile/passkeys/new/options',
  async ({ askOwn }) => optionsAnswer((await askOwn(beginPasskey)).options),
);

export const removePasskeyPages = forPersons.form(
  '/profile/passkeys/:passkey_id/remove',
  (request) => {
    const {
      askOwn,
      path: { passkey_id },
    } = request;
    return {
      shown: async (state) => {
        const { items } = await askOwn(listPasskeys);
        const there = items.find(({ id }) => id === passkey_id);
        if (!there) return state.status === 404 ? notFoundAnswer : seeOther('/profile/passkeys');
        return (
          proofFirst(request) ??
          confirm({
            state,
            title: `Remove ${there.name}`,
            place: 'profile',
            below:
              'It no longer signs you in. Your device may still offer it until you remove it there too.',
            trail,
            act: 'Remove passkey',
          })
        );
      },
      act: async () => {
        const { name } = await askOwn(removePasskey, { passkey_id });
        return seeOther('/profile/passkeys', { said: `Passkey ${name} removed.` });
      },
    };
  },
);

const [overview, setUpPath] = ['/profile/two-step', '/profile/two-step/set-up'];
const secondFactorTrail = [ofProfile, { href: overview, name: 'Two-step verification' }];
const noStore = { 'cache-control': 'no-store' } as const;

export const twoStepPage = forPersons.get(overview, async ({ askOwn, times }) => {
  const { on_since, recovery_codes_left: left } = await askOwn(showSecondFactor);
  if (on_since === null) return seeOther(setUpPath);
  return show({
    title: 'Two-step verification',
    place: 'profile',
    main: html`
        ${heading({
          sentence: 'Two-step verification is on',
          below:
            'Your password, then a code from your app. It stays on when you change your password.',
          trail: [ofProfile],
        })}
        ${
          left < 4 &&
          notice(
            'verifying',
            left === 0
              ? 'No recovery codes left'
              : left === 1
                ? 'One recovery code left'
                : `${left} recovery codes left`,
            'Create new ones before you need them. Without your app and a code, only the operator of this installation can let you in.',
          )
        }
        <dl class="card settings lines">
          <div class="setting">
            <dt>App</dt>
            <dd>On since ${times.moment(on_since)}</dd>
            <dd class="setting-action">${linkButton('/profile/two-step/off', 'Turn off')}</dd>
          </div>
          <div class="setting">
            <dt>Recovery codes</dt>
            <dd>
              ${left} of 10
              left<span class="note">For when you have no access to your app.</span>
            </dd>
            <dd class="setting-action">${linkButton('/profile/two-step/codes', 'Create new codes')}</dd>
          </div>
        </dl>
      `,
  });
});

export const setUpPage = forPersons.get(setUpPath, (request) =>
  unlessOther(async () => {
    const { on_since } = await request.askOwn(showSecondFactor);
    if (on_since !== null) return seeOther(overview);
    const wait = proofFirst(request);
    if (wait) return wait;
    const { secret } = await request.askOwn(proposeSecondFactor);
    return setUpForm(request, secret, freshForm(formOf({})));
  }),
);

/** A page for a setting that is on or off; the page that does not match redirects to the other. */
async function unlessOther(answer: () => Promise<PageAnswer>): Promise<PageAnswer> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof Refusal && error.code === 'second_factor_on') return seeOther(overview);
    if (error instanceof Refusal && error.code === 'second_factor_off') return seeOther(setUpPath);
    throw error;
  }
}

function setUpForm(
  { signedIn: { person } }: PersonsRequest,
  secret: string,
  state: FormState,
): PageAnswer {
  return show({
    title: 'Set up two-step verification',
    place: 'profile',
    status: state.status,
    headers: noStore,
    main: html`
      ${heading({
        sentence: 'Set up two-step verification',
        below: 'Your password alone is then not enough to sign in. Any authenticator app works.',
        trail: [ofProfile],
      })}
      ${formSummary(state)}
      <ol class="card stack steps">
        <li>
          <h2>Scan this code with your app</h2>
          <div class="row qr-beside">
            ${qrCode(totpAddress(secret, person.email), 'The secret below, as a QR code')}
            <div>
              <p>Or enter this secret in the app:</p>
              <p class="copyable">
                <code id="totp-secret">${inFours(secret)}</code>
                <button class="button" type="button" data-copy="${secret}">
                  ${icon('copy')}<span data-copied>Copy</span>
                </button>
              </p>
            </div>
          </div>
        </li>
        <li>
          <h2>Enter the code from the app</h2>
          <form class="form" method="post">
            ${hiddenField('secret', secret)}
            ${textField({
              name: 'code',
              label: 'Code',
              autocomplete: 'one-time-code',
              inputmode: 'numeric',
              required: true,
              help: 'Six digits. A new code appears every 30 seconds.',
              state,
            })}
            <div class="actions">
              <button class="button button-main">Turn on</button>
              ${linkButton('/profile', 'Cancel')}
            </div>
          </form>
        </li>
      </ol>
    `,
  });
}

/** In groups of four, as people read them aloud and type them. */
function inFours(secret: string): string {
  return (secret.match(/.{1,4}/g) ?? []).join(' ');
}

export const setUp = forPersons.post(setUpPath, (request) =>
  unlessOther(async () => {
    const { form, askOwn } = request;
    const secret = form.value('secret') ?? '';
    const tried = await attempt(
      form,
      () => askOwn(startSecondFactor, { secret, code: form.value('code') ?? '' }),
      ['code'],
    );
    if ('done' in tried) return codesPage('Two-step verification is on', tried.done.recovery_codes);
    const { on_since } = await askOwn(showSecondFactor);
    return on_since === null ? setUpForm(request, secret, tried.refused) : seeOther(overview);
  }),
);

/** Shown once: only their fingerprints are stored. */
function codesPage(sentence: Part, codes: readonly string[]): PageAnswer {
  return show({
    title: 'Recovery codes',
    place: 'profile',
    headers: noStore,
    main: html`
      ${heading({
        sentence,
        below:
          'Store these ten codes away from your phone. Each signs you in once when you have no access to your app.',
        trail: secondFactorTrail,
      })}
      <div class="card stack">
        <pre class="sunk codes" id="recovery-codes">${codes.join('\n')}</pre>
        <p class="actions">
          <button class="button" type="button" data-copy="#recovery-codes">
            ${icon('copy')}<span data-copied>Copy</span>
          </button>
          ${linkButton('/profile', 'Done', { main: true })}
        </p>
        ${notice(
          'information',
          'You see these codes only once',
          'Anyone with a code and your password can sign in as you. Creating new codes revokes these.',
        )}
      </div>
    `,
  });
}

export const newCodesPages = forPersons.form('/profile/two-step/codes', (request) => ({
  fresh: () => proofFirst(request),
  shown: (state) =>
    question({
      state,
      sentence: 'Create ten new recovery codes?',
      below: 'Your current codes stop working at once.',
      verb: 'Create codes',
      isEnd: false,
    }),
  act: () =>
    unlessOther(async () =>
      codesPage(
        'Your new recovery codes',
        (await request.askOwn(replaceRecoveryCodes)).recovery_codes,
      ),
    ),
}));

/** A page that asks for confirmation. */
function question({
  state,
  sentence,
  below,
  verb,
  isEnd,
}: {
  readonly state: FormState;
  readonly sentence: string;
  readonly below: Part;
  readonly verb: string;
  readonly isEnd: boolean;
}): PageAnswer {
  return confirm({
    state,
    title: sentence,
    sentence,
    place: 'profile',
    below,
    trail: secondFactorTrail,
    act: html`<button class="button ${isEnd ? 'button-danger' : 'button-main'}">${verb}</button>`,
  });
}

export const turnOffPages = forPersons.form('/profile/two-step/off', (request) => ({
  fresh: () => proofFirst(request),
  shown: (state) =>
    question({
      state,
      sentence: 'Turn off two-step verification?',
      below: 'Your password alone then signs you in, and your recovery codes stop working.',
      verb: 'Turn off',
      isEnd: true,
    }),
  act: () =>
    unlessOther(async () => {
      await request.askOwn(endSecondFactor);
      return seeOther('/profile', { said: 'Two-step verification is off.' });
    }),
}));
