import { innerOperations } from '../../../../shared/api/inner/inner-index.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { Refusal } from '../../../../shared/base/errors.ts';
import { proofFirst } from '../parts/part-entry-card.ts';
import { refuseUnlessMay } from '../parts/part-refuse-unless-may.ts';
import { rolesFor } from '../parts/part-roles.ts';
import { formOf } from '../web-form-data.ts';
import { attempt, choiceField, type FormState, formSummary, freshForm } from '../web-forms.ts';
import { html } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, linkButton } from '../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web-page.ts';

const { listMembers, setMemberRole, removeMember } = innerOperations;

type Member = OutputOf<typeof listMembers>['items'][number];

const trail = [{ href: '/members', name: 'Members' }];

/** @throws Refusal `member_not_found`, also for who is a member elsewhere only. */
const memberOf = async (request: MembersRequest): Promise<Member> => {
  const { items } = await request.ask(listMembers);
  const member = items.find(({ id }) => id === request.path.member_id);
  if (!member) throw new Refusal('member_not_found', 'There is no such member.');
  refuseUnlessMay(request, setMemberRole);
  return member;
};

const calledOf = ({ name, email }: Member): string => (name === '' ? email : name);

const roleForm = ({ caller }: MembersRequest, member: Member, state: FormState): PageAnswer =>
  show({
    title: `Role of ${calledOf(member)}`,
    place: 'members',
    status: state.status,
    main: html`${heading({
      sentence: `What may ${calledOf(member)} do?`,
      below: 'Another role counts at once, and ends all tokens that they made here.',
      trail,
    })}${formSummary(state)}<form class="form" method="post">${choiceField({ name: 'role', label: 'Role', choices: rolesFor(caller.role), state })}
<div class="actions"><button class="button button-main">Save</button>${linkButton('/members', 'Leave it')}</div></form>
<p class="after"><a href="/members/${member.id}/remove">Take ${calledOf(member)} out of ${caller.organisation.name}</a></p>`,
  });

export const rolePage: Page = {
  method: 'GET',
  path: '/members/:member_id/role',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    return proofFirst(request) ?? roleForm(request, member, freshForm(formOf({ role: member.role })));
  },
};

export const changeRole: Page = {
  method: 'POST',
  path: '/members/:member_id/role',
  needs: 'member',
  answer: async (request) => {
    const member = await memberOf(request);
    const { form, ask } = request;
    const tried = await attempt(form, () => ask(setMemberRole, { email: member.email, role: form.value('role') ?? '' }), ['role']);
    if ('refused' in tried) return roleForm(request, member, tried.refused);
    return seeOther('/members', { said: `${calledOf(member)} is ${/^[ao]/.test(tried.done.role) ? 'an' : 'a'} ${tried.done.role} now.` });
  },
};

const removing = ({ caller }: MembersRequest, member: Member, state: FormState): PageAnswer =>
  show({
    title: `Remove ${calledOf(member)}`,
    place: 'members',
    status: state.status,
    main: html`${heading({
      sentence: `Take ${calledOf(member)} out of ${caller.organisation.name}?`,
      below: html`${member.email} sees nothing of it any more, from now on. The tokens and the channels that are theirs end; monitors and everything else stay.`,
      trail,
    })}${formSummary(state)}<form class="actions" method="post"><button class="button button-danger">${icon('delete')}Take them out</button>${linkButton('/members', 'Stay as it is')}</form>`,
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
    const tried = await attempt(request.form, () => request.ask(removeMember, { email: member.email }), []);
    if ('refused' in tried) return removing(request, member, tried.refused);
    if (member.id === request.caller.user) return seeOther('/organisations', { said: `You left ${request.caller.organisation.name}.` });
    return seeOther('/members', { said: `${calledOf(member)} is a member no more.` });
  },
};

export const memberActs: readonly Page[] = [rolePage, changeRole, removePage, remove];
