import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { proofFirst } from '../../parts/part-entry-card.ts';
import { passkeyForm } from '../../parts/part-passkey-form.ts';
import { formOf } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type Page, type PageAnswer, type PersonsRequest, seeOther, send, show } from '../../web-page.ts';

const { listPasskeys, beginPasskey, addPasskey, removePasskey } = personOperations;

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
      items.length === 0 ? 'You have no passkey yet.' : items.length === 1 ? 'You have one passkey.' : `You have ${items.length} passkeys.`;
    return show({
      title: 'Passkeys',
      place: 'profile',
      main: html`${heading({ sentence, below, trail: [ofProfile], actions: origin !== null && linkButton(newPath, 'Add a passkey', { main: true, symbol: 'add' }) })}
${origin === null && html`<p class="soft">Passkeys need an address with a name, and https. This installation is at ${baseUrl()}; whoever runs it can set BASE_URL.</p>`}
${
  items.length > 0 &&
  html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">Name</th><th scope="col">Kept</th><th scope="col">Last used</th><th scope="col">Added</th><th scope="col"><span class="unseen">Remove it</span></th></tr></thead><tbody>${items.map(
    ({ id, name, is_synced, created_at, last_used_at }) =>
      html`<tr id="passkey-${id}"><td data-label="Name">${name}</td><td data-label="Kept">${is_synced ? 'on your devices' : 'on one device'}</td><td data-label="Last used">${last_used_at === null ? 'never yet' : times.ago(last_used_at)}</td><td data-label="Added">${times.moment(created_at)}</td><td class="number"><a class="button" href="/profile/passkeys/${id}/remove">Remove<span class="unseen"> ${name}</span></a></td></tr>`,
  )}</tbody></table></div>`
}`,
    });
  },
};

const addPage = async ({ askOwn }: PersonsRequest, sent?: FormState): Promise<PageAnswer> => {
  const { origin, suggested_name: name } = await askOwn(listPasskeys);
  if (origin === null) return seeOther('/profile/passkeys');
  const state = sent ?? freshForm(formOf({ name }));
  const field = textField({
    ...{ name: 'name', label: 'Name', required: true, autocomplete: 'off', state },
    help: 'So that you know later which one it is.',
  });
  const form = passkeyForm({
    ...{ does: 'create', action: newPath, address: newPath, origin, fields: field },
    ...{ verb: 'Make it now', symbol: 'tokens', main: true, beside: linkButton('/profile/passkeys', 'Leave it') },
  });
  return show({
    ...{ title: 'Add a passkey', place: 'profile', status: state.status, passkeys: true },
    main: html`${heading({ sentence: 'Add a passkey', below: 'Your browser asks next where it is to be kept.', trail })}${formSummary(state)}${form}`,
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
    send({ type: 'application/json', body: (await askOwn(beginPasskey)).options, headers: { 'cache-control': 'no-store' } }),
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
        main: html`${heading({ sentence: html`Remove ${there.name}?`, below: 'It signs you in no more. Your device may go on offering it until you remove it there, too.', trail })}
<form class="form" method="post"><div class="actions"><button class="button button-danger">Remove it</button>${linkButton('/profile/passkeys', 'Leave it')}</div></form>`,
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
