import { personOperations, visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { comeIn, nextOf } from '../../parts/part-entry-card.ts';
import { attempt } from '../../web-forms.ts';
import { type Page, type PageAnswer, seeOther, send } from '../../web-page.ts';
import { confirmWith } from './page-coming-in-confirm.ts';
import { endOfStep } from './page-coming-in-second-step.ts';
import { signInWith } from './page-coming-in-sign-in.ts';

/** Coming in by a passkey, and proving by one that it is still the same person. */

/** For the script, which gives it to the browser as it is. */
const options = (text: string): PageAnswer => send({ type: 'application/json', body: text, headers: { 'cache-control': 'no-store' } });

export const passkeyInOptions: Page = {
  method: 'POST',
  path: '/sign-in/passkey/options',
  needs: 'nobody',
  answer: async ({ askAsVisitor }) => options((await askAsVisitor(visitorOperations.beginPasskeySignIn)).options),
};

export const passkeyIn: Page = {
  method: 'POST',
  path: '/sign-in/passkey',
  needs: 'nobody',
  answer: async (request) => {
    const { form, askAsVisitor } = request;
    const next = nextOf(form.value('next'));
    const tried = await attempt(form, () => askAsVisitor(visitorOperations.signInByPasskey, { answer: form.value('answer') ?? '' }), []);
    return 'refused' in tried
      ? signInWith(request, tried.refused, next)
      : comeIn(request, tried.done.session, next, undefined, [endOfStep(request)]);
  },
};

export const passkeyProofOptions: Page = {
  method: 'POST',
  path: '/confirm/passkey/options',
  needs: 'person',
  answer: async ({ askOwn }) => options((await askOwn(personOperations.beginProof)).options),
};

export const passkeyProof: Page = {
  method: 'POST',
  path: '/confirm/passkey',
  needs: 'person',
  answer: async (request) => {
    const { form, askOwn } = request;
    const next = nextOf(form.value('next'));
    const tried = await attempt(form, () => askOwn(personOperations.proveByPasskey, { answer: form.value('answer') ?? '' }), []);
    return 'refused' in tried ? confirmWith(request, tried.refused, next) : seeOther(next);
  },
};
