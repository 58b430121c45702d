import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { entryCard, entryPage, nextOf } from '../../parts/part-entry-card.ts';
import { passkeyForm } from '../../parts/part-passkey-form.ts';
import { noForm } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, hiddenField, textField } from '../../web-forms.ts';
import { type Html, html, query } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import { type Page, type PageAnswer, type PersonsRequest, seeOther } from '../../web-page.ts';

const passkeyConfirm = (origin: string, next: string): Html =>
  passkeyForm({
    ...{ does: 'get', action: '/confirm/passkey', address: `/confirm${query({ next })}`, origin, next },
    ...{ verb: 'Use a passkey', symbol: 'tokens' },
  });

/** The password once more, or a passkey, before what is dangerous. */
export const confirmWith = async (
  { signedIn: { person }, askOwn }: PersonsRequest,
  state: FormState,
  next: string,
): Promise<PageAnswer> => {
  const [{ items, origin }, { mail }] = await Promise.all([askOwn(personOperations.listPasskeys), askOwn(personOperations.showProfile)]);
  const passkeys = origin !== null && items.length > 0;
  return entryPage(
    'Confirm your password',
    entryCard(
      'Confirm your password.',
      formSummary(state),
      html`<p class="entry-words">You are asked once every 15 minutes.</p>
<form class="form" method="post" action="/confirm">${hiddenField('next', next)}<input type="hidden" name="email" autocomplete="username" value="${person.email}">
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: true, state })}
<div class="actions"><button class="button button-main">Confirm</button>${linkButton('/', 'Cancel')}</div></form>${passkeys && passkeyConfirm(origin, next)}
<p class="entry-foot">You never had a password? ${mail ? 'You can ' : 'A fresh sign-in link confirms you as well: '}${
        mail
          ? html`<a href="/forgot">choose a password by mail</a>.</p>`
          : html`open one in this browser, then come back here.</p>
<pre class="entry-command"><code>npm run operator -- user sign-in-link --email ${person.email}</code></pre>`
      }`,
    ),
    { status: state.status, passkeys },
  );
};

export const confirmPage: Page = {
  method: 'GET',
  path: '/confirm',
  needs: 'person',
  answer: (request) => confirmWith(request, freshForm(noForm), nextOf(request.query.next)),
};

export const confirm: Page = {
  method: 'POST',
  path: '/confirm',
  needs: 'person',
  answer: async (request) => {
    const { form, askOwn } = request;
    const next = nextOf(form.value('next'));
    const tried = await attempt(form, () => askOwn(personOperations.proveAgain, { password: form.value('password') ?? '' }), ['password']);
    return 'refused' in tried ? confirmWith(request, tried.refused, next) : seeOther(next);
  },
};
