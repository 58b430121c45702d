import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { html } from '../../web-html.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type Page, seeOther, show } from '../../web-page.ts';

/** Which organisation this browser acts in. */
export const organisationsPage: Page = {
  method: 'GET',
  path: '/organisations',
  needs: 'person',
  answer: async ({ askOwn, times, signedIn: { caller } }) => {
    const { items, may_found } = await askOwn(personOperations.listOwnOrganisations);
    const now = caller?.organisation.id;
    const sentence =
      items.length === 0
        ? 'You belong to no organisation.'
        : items.length === 1
          ? 'You belong to one organisation.'
          : `You belong to ${items.length} organisations.`;
    const below =
      items.length === 0
        ? 'Whoever runs one can invite you; the link in the invitation is all that you need.'
        : 'The pages show one at a time; another browser may show another.';
    return show({
      title: 'Organisations',
      main: html`${heading({ sentence, below, actions: may_found && linkButton('/organisations/new', 'New organisation', { symbol: 'add' }) })}${
        items.length > 0 &&
        html`<ul class="card settings">${items.map(
          ({ id, name, role, ends_at }) =>
            html`<li class="setting"><div><b>${name}</b><span class="setting-note">you are ${role === 'admin' || role === 'owner' ? 'an' : 'a'} ${role}${ends_at !== null && html`; it will be deleted on ${times.day(ends_at)}`}</span></div><div class="setting-action">${
              id === now
                ? html`shown now`
                : html`<form method="post" action="/organisations"><input type="hidden" name="organisation_id" value="${id}"><button class="button">Show<span class="unseen"> ${name}</span></button></form>`
            }</div></li>`,
        )}</ul>`
      }`,
    });
  },
};

export const switchOrganisation: Page = {
  method: 'POST',
  path: '/organisations',
  needs: 'person',
  answer: async ({ askOwn, form }) => {
    await askOwn(personOperations.switchOrganisation, { organisation_id: form.value('organisation_id') });
    return seeOther('/');
  },
};
