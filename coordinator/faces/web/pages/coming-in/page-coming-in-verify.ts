import { personOperations, visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { entryCard, entryPage, unlessDead } from '../../parts/part-entry-card.ts';
import { html, type Part } from '../../web-html.ts';
import { type Page, type PageAnswer, seeOther } from '../../web-page.ts';

const button = (title: string, heading: string, words: Part, label: string): PageAnswer =>
  entryPage(
    title,
    entryCard(
      heading,
      html`<p class="entry-words">${words}</p>
<form class="form" method="post"><button class="button button-main">${label}</button></form>`,
    ),
    { headers: { 'cache-control': 'no-store' } },
  );

/** Programs that scan mail follow links: only the button proves that a person has the mailbox, and only in a browser that is signed in. */
export const verifyPage: Page = {
  method: 'GET',
  path: '/verify/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path, signedIn }) =>
    unlessDead(async () => {
      if (!signedIn) return seeOther(`/sign-in?next=/verify/${path.secret}`);
      const { email } = await askAsVisitor(visitorOperations.showLink, { kind: 'e-mail', secret: path.secret });
      return email === null ? null : button('Your address', 'Use this address?', email, 'Use this address');
    }),
};

export const verify: Page = {
  method: 'POST',
  path: '/verify/:secret',
  needs: 'person',
  answer: ({ askOwn, path }) =>
    unlessDead(async () => {
      const { email } = await askOwn(personOperations.verifyEmail, { secret: path.secret });
      return seeOther('/profile', { said: `${email} is your address.` });
    }),
};

/** The link that the old mailbox got when a change was asked for. */
export const keepPage: Page = {
  method: 'GET',
  path: '/keep/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { email } = await askAsVisitor(visitorOperations.showLink, { kind: 'e-mail kept', secret: path.secret });
      if (email === null) return null;
      return button('Keep your address', 'Keep your present address?', html`The change to ${email} will be cancelled.`, 'Keep my address');
    }),
};

export const keep: Page = {
  method: 'POST',
  path: '/keep/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { wanted } = await askAsVisitor(visitorOperations.keepEmail, { secret: path.secret });
      return entryPage(
        'Address kept',
        entryCard(
          'Your address is kept',
          html`<p class="entry-words">The change to ${wanted} is cancelled. Someone else may know your password: choose a new one.</p>
<p class="actions"><a class="button button-main" href="/forgot">Choose a new password</a></p>`,
        ),
      );
    }),
};
