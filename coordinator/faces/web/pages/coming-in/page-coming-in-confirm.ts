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
  const { items, origin } = await askOwn(personOperations.listPasskeys);
  const passkeys = origin !== null && items.length > 0;
  return entryPage(
    'Is it you?',
    entryCard(
      'Is it still you?',
      formSummary(state),
      html`<p class="entry-words">What comes next is not for whoever happens to sit here. You are asked once in a quarter of an hour.</p>
<form class="form" method="post" action="/confirm">${hiddenField('next', next)}<input type="hidden" name="email" autocomplete="username" value="${person.email}">
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: true, state })}
<div class="actions"><button class="button button-main">Go on</button>${linkButton('/', 'Not now')}</div></form>${passkeys && passkeyConfirm(origin, next)}`,
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
