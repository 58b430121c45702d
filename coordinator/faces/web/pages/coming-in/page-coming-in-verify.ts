import { visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { entryCard, entryPage, unlessDead } from '../../parts/part-entry-card.ts';
import { html } from '../../web-html.ts';
import { type Page, seeOther } from '../../web-page.ts';

/** Programs that scan mail follow links: only the button proves that a person has the mailbox. */
export const verifyPage: Page = {
  method: 'GET',
  path: '/verify/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { email } = await askAsVisitor(visitorOperations.showLink, { kind: 'e-mail', secret: path.secret });
      return email === null
        ? null
        : entryPage(
            'Your address',
            entryCard(
              'Is this your address?',
              html`<p class="entry-words">${email}</p>
<form class="form" method="post"><button class="button button-main">Yes, it is mine</button></form>`,
            ),
            { headers: { 'cache-control': 'no-store' } },
          );
    }),
};

export const verify: Page = {
  method: 'POST',
  path: '/verify/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { email } = await askAsVisitor(visitorOperations.verifyEmail, { secret: path.secret });
      return seeOther('/profile', { said: `${email} is your address.` });
    }),
};
