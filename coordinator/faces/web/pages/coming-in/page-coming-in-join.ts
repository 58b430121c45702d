import { personOperations, visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { entryCard, entryPage, unlessDead } from '../../parts/part-entry-card.ts';
import { html } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import { type Page, seeOther } from '../../web-page.ts';

/** An invitation: it joins whoever signs in, and signs nobody in. */
export const joinPage: Page = {
  method: 'GET',
  path: '/join/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path, signedIn }) =>
    unlessDead(async () => {
      const { organisation, role, inviter } = await askAsVisitor(visitorOperations.showInvitation, { secret: path.secret });
      const words = html`<p class="entry-words">${inviter ?? 'Somebody'} invites you, as ${role}.</p>`;
      const ways = signedIn
        ? html`<form class="form" method="post"><div class="actions"><button class="button button-main">Join as ${signedIn.person.email}</button>${linkButton('/', 'Not now')}</div></form>`
        : html`<p class="actions">${linkButton(`/join/${path.secret}/sign-up`, 'Make an account', { main: true })}${linkButton(`/sign-in?next=/join/${path.secret}`, 'I have one')}</p>`;
      return entryPage('Join', entryCard(html`Join ${organisation}`, words, ways), { headers: { 'cache-control': 'no-store' } });
    }),
};

export const join: Page = {
  method: 'POST',
  path: '/join/:secret',
  needs: 'person',
  answer: ({ askOwn, path }) =>
    unlessDead(async () => {
      try {
        const { name } = await askOwn(personOperations.acceptInvitation, { secret: path.secret });
        return seeOther('/', { said: `You belong to ${name} now.` });
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'already_member') throw error;
        return seeOther('/', { said: error.message });
      }
    }),
};
