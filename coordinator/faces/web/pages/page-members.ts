import { innerOperations } from '../../../../shared/api/inner/inner-index.ts';
import { Refusal } from '../../../../shared/base/errors.ts';
import { proofFirst } from '../parts/part-entry-card.ts';
import { refuseUnlessMay } from '../parts/part-refuse-unless-may.ts';
import { rolesFor } from '../parts/part-roles.ts';
import { formOf } from '../web-form-data.ts';
import { attempt, choiceField, type FormState, formSummary, freshForm, textField } from '../web-forms.ts';
import { type Html, html } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, linkButton, notice } from '../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web-page.ts';
import { leave, leavePage } from './page-leave-organisation.ts';
import { memberActs } from './page-member-acts.ts';

const { listMembers, listInvitations, inviteMember, withdrawInvitation, setMemberRole } = innerOperations;

const invitationsTable = async ({ ask, may, times }: MembersRequest): Promise<Html | null> => {
  if (!may(listInvitations)) return null;
  const { items } = await ask(listInvitations);
  if (items.length === 0) return null;
  return html`<section class="after"><h2>Invited, and not here yet</h2><div class="table-card"><table class="cards"><thead><tr><th scope="col">Address</th><th scope="col">As</th><th scope="col">By</th><th scope="col">Good until</th><th scope="col"><span class="unseen">Renew it, or take it back</span></th></tr></thead><tbody>${items.map(
    ({ id, email, role, inviter, expires_at }) =>
      html`<tr id="invitation-${id}"><td data-label="Address">${email}</td><td data-label="As">${role}</td><td data-label="By">${inviter ?? 'the operator'}</td><td data-label="Good until">${times.moment(expires_at)}</td><td class="number"><div class="row-acts"><a class="button" href="/members/invitations/${id}/renew">Renew<span class="unseen"> the invitation of ${email}</span></a><form method="post" action="/members/invitations/${id}/withdraw"><button class="button">Take back<span class="unseen"> the invitation of ${email}</span></button></form></div></td></tr>`,
  )}</tbody></table></div></section>`;
};

/** Who is in the organisation. */
export const membersPage: Page = {
  method: 'GET',
  path: '/members',
  needs: 'member',
  answer: async (request) => {
    const { ask, may, times, caller } = request;
    const { items } = await ask(listMembers);
    const [only] = items;
    const sentence =
      items.length === 1 && only?.id === caller.user
        ? 'You are on your own here.'
        : `${items.length} people belong to ${caller.organisation.name}.`;
    return show({
      title: 'Members',
      place: 'members',
      main: html`${heading({
        sentence,
        below: may(inviteMember) ? undefined : 'Owners and admins can invite others.',
        actions: may(inviteMember) && linkButton('/members/invite', 'Invite somebody', { main: true, symbol: 'add' }),
      })}
<div class="table-card"><table class="cards"><thead><tr><th scope="col">Name</th><th scope="col">E-mail</th><th scope="col">Role</th><th scope="col">Since</th>${may(setMemberRole) && html`<th scope="col"><span class="unseen">Change</span></th>`}</tr></thead><tbody>${items.map(
        ({ id, name, email, role, joined_at }) =>
          html`<tr id="member-${id}"><td data-label="Name">${name === '' ? '–' : name}${id === caller.user && html` <b>you</b>`}</td><td data-label="E-mail">${email}</td><td data-label="Role">${role}</td><td data-label="Since">${times.day(joined_at)}</td>${
            may(setMemberRole) &&
            html`<td class="number"><div class="row-acts"><a class="button" href="/members/${id}/role">Role<span class="unseen"> of ${email}</span></a>${id !== caller.user && html`<a class="button" href="/members/${id}/remove">Remove<span class="unseen"> ${email}</span></a>`}</div></td>`
          }</tr>`,
      )}</tbody></table></div>${await invitationsTable(request)}${items.length > 1 && html`<p class="after"><a href="/members/leave">Leave ${caller.organisation.name}</a></p>`}`,
    });
  },
};

const trail = [{ href: '/members', name: 'Members' }];

const form = ({ caller }: MembersRequest, state: FormState): PageAnswer =>
  show({
    title: 'Invite somebody',
    place: 'members',
    status: state.status,
    main: html`${heading({ sentence: `Invite somebody to ${caller.organisation.name}`, below: 'The invitation is good for a week, once, for whoever has its link.', trail })}
${formSummary(state)}<form class="form" method="post">
${textField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'off', required: true, autofocus: true, state })}
${choiceField({ name: 'role', label: 'As', choices: rolesFor(caller.role), state })}
<div class="actions"><button class="button button-main">Invite</button>${linkButton('/members', 'Leave it')}</div></form>`,
  });

export const invitePage: Page = {
  method: 'GET',
  path: '/members/invite',
  needs: 'member',
  answer: (request) => proofFirst(request) ?? form(request, freshForm(formOf({ role: 'member' }))),
};

/** The link is shown to the inviter where no mail can carry it; never again. */
const shown = (address: string, email: string): PageAnswer =>
  show({
    title: 'Pass the link on',
    place: 'members',
    headers: { 'cache-control': 'no-store' },
    main: html`${heading({ sentence: 'Pass this link on.', below: html`This installation sends no mail, so give it to <b>${email}</b> yourself.`, trail })}
<div class="card stack"><p class="copyable"><code>${address}</code><button class="button" type="button" data-copy="${address}" hidden>${icon('copy')}Copy</button></p>
${notice('information', 'It is shown only now.', 'Whoever opens it can join once within a week. It signs nobody in. You can take it back among the members.')}</div>
<p class="actions after">${linkButton('/members', 'To the members')}</p>`,
  });

const invitedAs = async (request: MembersRequest, input: { readonly email: string; readonly role: string }): Promise<PageAnswer> => {
  const { address, email } = await request.ask(inviteMember, input);
  return address === null ? seeOther('/members', { said: `An invitation is on its way to ${email}.` }) : shown(address, email);
};

export const invite: Page = {
  method: 'POST',
  path: '/members/invite',
  needs: 'member',
  answer: async (request) => {
    const { form: sent } = request;
    const input = { email: sent.value('email') ?? '', role: sent.value('role') ?? '' };
    const tried = await attempt(sent, () => invitedAs(request, input), ['email', 'role']);
    return 'refused' in tried ? form(request, tried.refused) : tried.done;
  },
};

export const takeBack: Page = {
  method: 'POST',
  path: '/members/invitations/:invitation_id/withdraw',
  needs: 'member',
  answer: async ({ ask, path }) => {
    await ask(withdrawInvitation, { invitation_id: path.invitation_id });
    return seeOther('/members', { said: 'The invitation is taken back; its link leads nowhere now.' });
  },
};

const invitationOf = async (request: MembersRequest): Promise<{ readonly email: string; readonly role: string }> => {
  refuseUnlessMay(request, inviteMember);
  const { items } = await request.ask(listInvitations);
  const invitation = items.find(({ id }) => id === request.path.invitation_id);
  if (!invitation) throw new Refusal('invitation_not_found', 'There is no such invitation.');
  return invitation;
};

export const renewPage: Page = {
  method: 'GET',
  path: '/members/invitations/:invitation_id/renew',
  needs: 'member',
  answer: async (request) => {
    const { email, role } = await invitationOf(request);
    const asked = proofFirst(request);
    if (asked) return asked;
    return show({
      title: 'Renew the invitation',
      place: 'members',
      main: html`${heading({
        sentence: `Invite ${email} once more?`,
        below: `As ${role}, for another week. The link that they have ends, and another one takes its place.`,
        trail,
      })}<form class="actions" method="post"><button class="button button-main">${icon('again')}Renew it</button>${linkButton('/members', 'Leave it')}</form>`,
    });
  },
};

export const renew: Page = {
  method: 'POST',
  path: '/members/invitations/:invitation_id/renew',
  needs: 'member',
  answer: async (request) => {
    const { email, role } = await invitationOf(request);
    return invitedAs(request, { email, role });
  },
};

export const memberPages: readonly Page[] = [membersPage, leavePage, leave, invitePage, invite, renewPage, renew, takeBack, ...memberActs];
