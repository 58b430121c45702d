import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { html } from '../../web-html.ts';
import { heading } from '../../web-layout.ts';
import { type Page, seeOther, show } from '../../web-page.ts';

const { listSessions, endSession, endOtherSessions } = personOperations;

/** Where one is signed in. */
export const sessionsPage: Page = {
  method: 'GET',
  path: '/profile/sessions',
  needs: 'person',
  answer: async ({ askOwn, times }) => {
    const { items } = await askOwn(listSessions);
    const others = items.length - 1;
    const sentence = others < 1 ? 'You are signed in here only.' : `You are signed in at ${items.length} browsers.`;
    const all =
      others > 0 && html`<form method="post" action="/profile/sessions"><button class="button">Sign out all others</button></form>`;
    return show({
      title: 'Where you are signed in',
      place: 'profile',
      main: html`${heading({ sentence, below: 'One that nobody uses ends after a week, each of them after thirty days.', actions: all, trail: [{ href: '/profile', name: 'Your profile' }] })}
<div class="table-card"><table class="cards"><thead><tr><th scope="col">Browser</th><th scope="col">Address</th><th scope="col">Last used</th><th scope="col">Signed in</th><th scope="col"><span class="unseen">End it</span></th></tr></thead><tbody>${items.map(
        ({ id, device, address, last_used_at, created_at, is_this }) =>
          html`<tr id="session-${id}"><td data-label="Browser">${device}${is_this && html` <b>this one</b>`}</td><td data-label="Address">${address}</td><td data-label="Last used">${is_this ? 'now' : times.ago(last_used_at)}</td><td data-label="Signed in">${times.moment(created_at)}</td><td class="number"><form method="post" action="/profile/sessions/${id}/end"><button class="button">Sign out<span class="unseen"> ${device}</span></button></form></td></tr>`,
      )}</tbody></table></div>`,
    });
  },
};

export const endOneSession: Page = {
  method: 'POST',
  path: '/profile/sessions/:session_id/end',
  needs: 'person',
  answer: async ({ askOwn, path }) => {
    const { is_this } = await askOwn(endSession, { session_id: path.session_id });
    return is_this
      ? seeOther('/sign-in', { said: 'You are signed out.' })
      : seeOther('/profile/sessions', { said: 'That browser is signed out.' });
  },
};

export const endAllOthers: Page = {
  method: 'POST',
  path: '/profile/sessions',
  needs: 'person',
  answer: async ({ askOwn }) => {
    const { ended } = await askOwn(endOtherSessions);
    return seeOther('/profile/sessions', {
      said: ended === 1 ? 'The other browser is signed out.' : `${ended} other browsers are signed out.`,
    });
  },
};
