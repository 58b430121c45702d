import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { proofFirst } from '../../people/pages/parts.ts';
import { leave, leavePage } from '../../people/pages/profile.ts';
import { heading, linkButton, notice } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  attempt,
  type Choice,
  choiceField,
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import {
  inviteMember,
  listInvitations,
  listMembers,
  setMemberRole as membersSetMemberRole,
  removeMember,
  withdrawInvitation,
} from '../contract.ts';

const roles: readonly Choice[] = [
  { value: 'member', label: 'Member', help: 'Adds and changes what is watched.' },
  { value: 'viewer', label: 'Viewer', help: 'Looks, and changes nothing.' },
  { value: 'admin', label: 'Admin', help: 'Also looks after members, probes and the plan.' },
];

/** The roles that someone with a role may give to others: only owners make owners. */
export const rolesFor = (own: string): readonly Choice[] => [
  ...roles,
  {
    value: 'owner',
    label: 'Owner',
    disabled: own !== 'owner',
    help:
      own === 'owner'
        ? 'As an admin, and makes owners; an organisation always has one.'
        : 'An organisation always has one; owners alone make another.',
  },
];

type Member = OutputOf<typeof listMembers>['items'][number];

const trail = [{ href: '/members', name: 'Members' }];

/** @throws Refusal `member_not_found`, also for members of other organisations. */
const memberOf = async (request: MembersRequest): Promise<Member> => {
  const { items } = await request.ask(listMembers);
  const member = items.find(({ id }) => id === request.path.member_id);
  if (!member) throw new Refusal('member_not_found', 'There is no such member.');
  refuseUnlessMay(request, membersSetMemberRole);
  return member;
};

const calledOf = ({ name, email }: Member): string => (name === '' ? email : name);

const roleForm = ({ caller }: MembersRequest, member: Member, state: FormState): PageAnswer =>
  show({
    title: `Role of ${calledOf(member)}`,
    place: 'members',
    status: state.status,
    main: html`
      ${heading({
        sentence: `What may ${calledOf(member)} do?`,
        below: 'Another role counts at once, and ends all tokens that they made here.',
        trail,
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${choiceField({ name: 'role', label: 'Role', choices: rolesFor(caller.role), state })}
        <div class="actions">
          <button class="button button-main">Save</button>
          ${linkButton('/members', 'Leave it')}
        </div>
      </form>
      <p class="after">
        <a href="/members/${member.id}/remove">
          Take ${calledOf(member)} out of ${caller.organisation.name}
        </a>
      </p>
    `,
  });

export const rolePage: Page = {
  method: 'GET',
  path: '/members/:member_id/role',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    return (
      proofFirst(request) ?? roleForm(request, member, freshForm(formOf({ role: member.role })))
    );
  },
};

export const changeRole: Page = {
  method: 'POST',
  path: '/members/:member_id/role',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    const { form, ask } = request;
    const tried = await attempt(
      form,
      () => ask(membersSetMemberRole, { email: member.email, role: form.value('role') ?? '' }),
      ['role'],
    );
    if ('refused' in tried) return roleForm(request, member, tried.refused);
    return seeOther('/members', {
      said: `${calledOf(member)} is ${/^[ao]/.test(tried.done.role) ? 'an' : 'a'} ${tried.done.role} now.`,
    });
  },
};

const removing = ({ caller }: MembersRequest, member: Member, state: FormState): PageAnswer =>
  show({
    title: `Remove ${calledOf(member)}`,
    place: 'members',
    status: state.status,
    main: html`
      ${heading({
        sentence: `Take ${calledOf(member)} out of ${caller.organisation.name}?`,
        below: html`
          ${member.email} sees nothing of it any more, from now on. The tokens and the channels that
          are theirs end; monitors and everything else stay.
        `,
        trail,
      })}
      ${formSummary(state)}
      <form class="actions" method="post">
        <button class="button button-danger">${icon('delete')}Take them out</button>
        ${linkButton('/members', 'Stay as it is')}
      </form>
    `,
  });

export const removePage: Page = {
  method: 'GET',
  path: '/members/:member_id/remove',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    if (member.id === request.caller.user) return seeOther('/members/leave');
    return proofFirst(request) ?? removing(request, member, freshForm(request.form));
  },
};

export const remove: Page = {
  method: 'POST',
  path: '/members/:member_id/remove',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    const tried = await attempt(
      request.form,
      () => request.ask(removeMember, { email: member.email }),
      [],
    );
    if ('refused' in tried) return removing(request, member, tried.refused);
    if (member.id === request.caller.user)
      return seeOther('/organisations', { said: `You left ${request.caller.organisation.name}.` });
    return seeOther('/members', { said: `${calledOf(member)} is a member no more.` });
  },
};

export const memberActs: readonly Page[] = [rolePage, changeRole, removePage, remove];

const invitationsTable = async ({ ask, may, times }: MembersRequest): Promise<Html | null> => {
  if (!may(listInvitations)) return null;
  const { items } = await ask(listInvitations);
  if (items.length === 0) return null;
  return html`
    <section class="after">
      <h2>Invited, and not here yet</h2>
      <div class="table-card">
        <table class="cards">
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">As</th>
              <th scope="col">By</th>
              <th scope="col">Good until</th>
              <th scope="col"><span class="unseen">Renew it, or take it back</span></th>
            </tr>
          </thead>
          <tbody>
            ${items.map(
              ({ id, email, role, inviter, expires_at }) =>
                html`
                  <tr id="invitation-${id}">
                    <td data-label="Address">${email}</td>
                    <td data-label="As">${role}</td>
                    <td data-label="By">${inviter ?? 'the operator'}</td>
                    <td data-label="Good until">${times.moment(expires_at)}</td>
                    <td class="number">
                      <div class="row-acts">
                        <a class="button" href="/members/invitations/${id}/renew">
                          Renew<span class="unseen"> the invitation of ${email}</span>
                        </a>
                        <form method="post" action="/members/invitations/${id}/withdraw">
                          <button class="button">
                            Take back<span class="unseen"> the invitation of ${email}</span>
                          </button>
                        </form>
                      </div>
                    </td>
                  </tr>
                `,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
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
      main: html`
        ${heading({
          sentence,
          below: may(inviteMember) ? undefined : 'Owners and admins can invite others.',
          actions:
            may(inviteMember) &&
            linkButton('/members/invite', 'Invite somebody', { main: true, symbol: 'add' }),
        })}
        <div class="table-card">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">E-mail</th>
                <th scope="col">Role</th>
                <th scope="col">Since</th>
                ${
                  may(membersSetMemberRole) &&
                  html`<th scope="col"><span class="unseen">Change</span></th>`
                }
              </tr>
            </thead>
            <tbody>
              ${items.map(
                ({ id, name, email, role, joined_at }) =>
                  html`
                    <tr id="member-${id}">
                      <td data-label="Name">
                        ${name === '' ? '–' : name}
                        ${id === caller.user && html` <b>you</b>`}
                      </td>
                      <td data-label="E-mail">${email}</td>
                      <td data-label="Role">${role}</td>
                      <td data-label="Since">${times.day(joined_at)}</td>
                      ${
                        may(membersSetMemberRole) &&
                        html`
                          <td class="number">
                            <div class="row-acts">
                              <a class="button" href="/members/${id}/role">
                                Role<span class="unseen"> of ${email}</span>
                              </a>
                              ${
                                id !== caller.user &&
                                html`
                                  <a class="button" href="/members/${id}/remove">
                                    Remove<span class="unseen"> ${email}</span>
                                  </a>
                                `
                              }
                            </div>
                          </td>
                        `
                      }
                    </tr>
                  `,
              )}
            </tbody>
          </table>
        </div>
        ${await invitationsTable(request)}
        ${
          items.length > 1 &&
          html`
            <p class="after"><a href="/members/leave">Leave ${caller.organisation.name}</a></p>
          `
        }
      `,
    });
  },
};

const form = ({ caller }: MembersRequest, state: FormState): PageAnswer =>
  show({
    title: 'Invite somebody',
    place: 'members',
    status: state.status,
    main: html`
      ${heading({
        sentence: `Invite somebody to ${caller.organisation.name}`,
        below: 'The invitation is good for a week, once, for whoever has its link.',
        trail,
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'email',
          label: 'E-mail',
          type: 'email',
          autocomplete: 'off',
          required: true,
          autofocus: true,
          state,
        })}
        ${choiceField({ name: 'role', label: 'As', choices: rolesFor(caller.role), state })}
        <div class="actions">
          <button class="button button-main">Invite</button>
          ${linkButton('/members', 'Leave it')}
        </div>
      </form>
    `,
  });

export const invitePage: Page = {
  method: 'GET',
  path: '/members/invite',
  needs: 'member',
  answer: (request) => proofFirst(request) ?? form(request, freshForm(formOf({ role: 'member' }))),
};

/** Where no mail can be sent, the inviter sees the link, once. */
const shown = (address: string, email: string): PageAnswer =>
  show({
    title: 'Pass the link on',
    place: 'members',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Pass this link on.',
        below: html`This installation sends no mail, so give it to <b>${email}</b> yourself.`,
        trail,
      })}
      <div class="card stack">
        <p class="copyable">
          <code>${address}</code>
          <button class="button" type="button" data-copy="${address}" hidden>
            ${icon('copy')}Copy
          </button>
        </p>
        ${notice(
          'information',
          'It is shown only now.',
          'Whoever opens it can join once within a week. It signs nobody in. You can take it back among the members.',
        )}
      </div>
      <p class="actions after">${linkButton('/members', 'To the members')}</p>
    `,
  });

const invitedAs = async (
  request: MembersRequest,
  input: { readonly email: string; readonly role: string },
): Promise<PageAnswer> => {
  const { address, email } = await request.ask(inviteMember, input);
  return address === null
    ? seeOther('/members', { said: `An invitation is on its way to ${email}.` })
    : shown(address, email);
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
    return seeOther('/members', {
      said: 'The invitation is taken back; its link leads nowhere now.',
    });
  },
};

const invitationOf = async (
  request: MembersRequest,
): Promise<{ readonly email: string; readonly role: string }> => {
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
      main: html`
        ${heading({
          sentence: `Invite ${email} once more?`,
          below: `As ${role}, for another week. The link that they have ends, and another one takes its place.`,
          trail,
        })}
        <form class="actions" method="post">
          <button class="button button-main">${icon('again')}Renew it</button>
          ${linkButton('/members', 'Leave it')}
        </form>
      `,
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

export const memberPages: readonly Page[] = [
  membersPage,
  leavePage,
  leave,
  invitePage,
  invite,
  renewPage,
  renew,
  takeBack,
  ...memberActs,
];
