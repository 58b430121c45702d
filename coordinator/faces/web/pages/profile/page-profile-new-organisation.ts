import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { zones } from '../../parts/part-zones.ts';
import { formOf } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, selectField, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';

const { foundOrganisation } = personOperations;

const form = (state: FormState): PageAnswer =>
  show({
    title: 'New organisation',
    status: state.status,
    main: html`${heading({
      sentence: 'Make another organisation',
      below: 'With monitors, people and status pages of its own: nobody of one sees anything of the other. You own it.',
      trail: [{ href: '/organisations', name: 'Organisations' }],
    })}${formSummary(state)}<form class="form" method="post">
${textField({ name: 'name', label: 'Name', required: true, autofocus: true, autocomplete: 'organization', help: 'Also in invitations and alerts.', state })}
${selectField({ name: 'time_zone', label: 'Time zone', choices: zones, state })}
<div class="actions"><button class="button button-main">Make it</button>${linkButton('/organisations', 'Leave it')}</div></form>`,
  });

export const newOrganisationPage: Page = {
  method: 'GET',
  path: '/organisations/new',
  needs: 'person',
  answer: ({ signedIn: { caller } }) => form(freshForm(formOf({ time_zone: caller?.organisation.time_zone ?? 'UTC' }))),
};

export const newOrganisation: Page = {
  method: 'POST',
  path: '/organisations/new',
  needs: 'person',
  answer: async ({ form: sent, askOwn }) => {
    const input = { name: sent.value('name') ?? '', time_zone: sent.value('time_zone') ?? '' };
    const tried = await attempt(sent, () => askOwn(foundOrganisation, input), ['name', 'time_zone']);
    return 'refused' in tried ? form(tried.refused) : seeOther('/', { said: `${tried.done.name} is made. The pages show it from now on.` });
  },
};
