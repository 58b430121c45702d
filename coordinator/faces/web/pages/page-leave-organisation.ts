import { leaveOrganisation } from '../../../../shared/api/inner/inner-account.ts';
import { proofFirst } from '../parts/part-entry-card.ts';
import { attempt, type FormState, formSummary, freshForm } from '../web-forms.ts';
import { html } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, linkButton } from '../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web-page.ts';

const form = ({ caller: { organisation } }: MembersRequest, state: FormState): PageAnswer =>
  show({
    title: `Leave ${organisation.name}`,
    place: 'members',
    status: state.status,
    main: html`${heading({
      sentence: `Leave ${organisation.name}?`,
      below:
        'You see nothing of it any more, from now on. Your tokens, your assistants and the channels that are yours end there; monitors and everything else stay. To come back you need an invitation.',
      trail: [{ href: '/members', name: 'Members' }],
    })}${formSummary(state)}<form class="actions" method="post"><button class="button button-danger">${icon('leave')}Leave it</button>${linkButton('/members', 'Stay')}</form>`,
  });

export const leavePage: Page = {
  method: 'GET',
  path: '/members/leave',
  needs: 'member',
  answer: (request) => proofFirst(request) ?? form(request, freshForm(request.form)),
};

export const leave: Page = {
  method: 'POST',
  path: '/members/leave',
  needs: 'member',
  answer: async (request) => {
    const tried = await attempt(request.form, () => request.ask(leaveOrganisation), []);
    if ('refused' in tried) return form(request, tried.refused);
    return seeOther('/organisations', { said: `You left ${request.caller.organisation.name}.` });
  },
};
