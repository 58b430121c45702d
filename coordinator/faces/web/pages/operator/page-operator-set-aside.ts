import { operatorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { countText } from '../../parts/part-figures.ts';
import { html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type Page, seeOther, show } from '../../web-page.ts';

const { showSetAside, retrySetAside, dropSetAside } = operatorOperations;

const path = '/operator/set-aside/:set_aside_id';

/** Of longer ones the command shows the rest. */
const mostShown = 20_000;

/** One message that could not be worked on, with what can be done about it. */
export const setAsidePage: Page = {
  method: 'GET',
  path,
  needs: 'operator',
  answer: async ({ askHouse, path: { set_aside_id }, times }) => {
    const { id, subject, reason, at, bytes, attempts, retry_asked_at, data, encoding } = await askHouse(showSetAside, { set_aside_id });
    return show({
      title: `Set aside: ${id}`,
      place: 'operator',
      main: html`${heading({
        sentence: `Message ${id} could not be worked on.`,
        below: 'It is kept as it came; what came after it went on.',
        trail: [{ href: '/operator', name: 'Operator' }],
      })}
<dl class="card settings"><div class="setting"><dt>Reason</dt><dd>${reason}</dd></div><div class="setting"><dt>Subject</dt><dd><code>${subject}</code></dd></div><div class="setting"><dt>Came</dt><dd>${times.moment(at)}</dd></div><div class="setting"><dt>Tried again in vain</dt><dd>${attempts === 0 ? 'never' : `${countText(attempts)} times`}${retry_asked_at !== null && html`<span class="setting-note">It waits to be worked on again since ${times.moment(retry_asked_at)}.</span>`}</dd></div></dl>
<section class="after"><h2>What it says</h2><div class="card stack"><p class="soft">${countText(bytes)} bytes, ${encoding === 'text' ? 'as they came' : 'in base64, because they are no text'}${data.length > mostShown && html`; these are the first, <code>set-aside show --id ${id}</code> prints all`}.</p><pre class="raw">${data.slice(0, mostShown)}</pre></div></section>
<section class="after"><h2>What to do</h2><div class="card stack"><p>When its cause is mended, such as by an upgrade, have it worked on again: it then counts once. What fails again stays here.</p>
<form class="actions" method="post" action="/operator/set-aside/${id}/retry"><button class="button button-main">${icon('again')}Work on it again</button>${linkButton('/operator', 'Leave it')}</form>
<p>Or drop it: what it told is lost, and this cannot be undone.</p>
<form class="actions" method="post"><button class="button button-danger">${icon('delete')}Drop it</button></form></div></section>`,
    });
  },
};

/** At the address of the page, so that a proof of who one is leads back to it. */
export const dropSetAsidePage: Page = {
  method: 'POST',
  path,
  needs: 'operator',
  answer: async ({ askHouse, path: { set_aside_id } }) => {
    await askHouse(dropSetAside, { set_aside_id });
    return seeOther('/operator', { said: `Message ${set_aside_id} is dropped.` });
  },
};

export const retrySetAsidePage: Page = {
  method: 'POST',
  path: `${path}/retry`,
  needs: 'operator',
  answer: async ({ askHouse, path: { set_aside_id } }) => {
    const { asked } = await askHouse(retrySetAside, { set_aside_id });
    const said = asked.length > 0 ? 'will be worked on again in a moment' : 'waits for that already, or cannot be worked on again';
    return seeOther('/operator', { said: `Message ${set_aside_id} ${said}.` });
  },
};
