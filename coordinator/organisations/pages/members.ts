import {
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  setMemberRole,
  withdrawInvitation,
} from '../../../shared/api/members.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { capital, listInWords } from '../../../shared/base/text.ts';
import { proofFirst } from '../../people/pages/parts.ts';
import { leavePages } from '../../people/pages/profile.ts';
import { confirm } from '../../web/confirm.ts';
import { copyable, heading, linkButton, notice, rowAct } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  type Choice,
  choiceField,
  type FormState,
  formSummary,
  refuseUnlessMay,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { menu, menuLink, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { acts, led, table } from '../../web/tables.ts';

const roles: readonly Choice[] = [
  { value: 'viewer', label: 'Viewer', help: 'Read only.' },
  {
    value: 'member',
    label: 'Member',
    help: 'Creates and edits monitors, channels and status pages.',
  },
  { value: 'admin', label: 'Admin', help: 'Also manages members, probes and the organisation.' },
];

/** The roles that someone with a role may give to others: only owners make owners. */
export function rolesFor(own: string): readonly Choice[] {
  return [
    ...roles,
    {
      value: 'owner',
      label: 'Owner',
      disabled: own !== 'owner',
      help:
        own === 'owner'
          ? 'Can also appoint owners. An organisation has at least one.'
          : 'Only an owner can make another member an owner.',
    },
  ];
}

const trail = [{ href: '/members', name: 'Members' }];

export const rolePages = forMembers.form('/members/:member_id/role', async (request) => {
  const member = await memberOf(request);
  return {
    fresh: () => proofFirst(request) ?? formOf({ role: member.role }),
    shown: (state) => roleForm(request, member, state),
    fields: ['role'],
    act: async () => {
      const { role } = await request.ask(setMemberRole, {
        member_id: member.id,
        role: request.form.value('role') ?? '',
      });
      return seeOther('/members', {
        said: `${calledOf(member)} is now ${/^[ao]/.test(role) ? 'an' : 'a'} ${role}.`,
      });
    },
  };
});

type Member = OutputOf<typeof listMembers>['items'][number];

/** @throws Refusal `member_not_found`, also for members of other organisations. */
async function memberOf(request: MembersRequest): Promise<Member> {
  const { items } = await request.ask(listMembers);
  const member = items.find(({ id }) => id === request.path.member_id);
  if (!member) throw new Refusal('member_not_found', 'Member not found.');
  refuseUnlessMay(request, setMemberRole);
  return member;
}

function roleForm({ caller }: MembersRequest, member: Member, state: FormState): PageAnswer {
  return show({
    title: `Role of ${calledOf(member)}`,
    place: 'members',
    status: state.status,
    main: html`
      ${heading({
        sentence: `Role of ${calledOf(member)}`,
        below: 'A new role takes effect at once and revokes all tokens they created here.',
        trail,
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${choiceField({ name: 'role', label: 'Role', choices: rolesFor(caller.role), state })}
        <div class="actions">
          <button class="button button-main">Save</button>
          ${linkButton('/members', 'Cancel')}
        </div>
      </form>
    `,
  });
}

/** `BO` of Ben Ortiz, `D` of dana@shop.example. */
function initialsOf(called: string): string {
  const [first = '', ...others] = called.replace(/@.*/, '').split(/\s+/);
  return [first, others.at(-1) ?? ''].map(firstLetter).join('').toUpperCase();
}

function firstLetter(word: string): string {
  return Array.from(word)[0] ?? '';
}

function calledOf({ name, email }: Member): string {
  return name === '' ? email : name;
}

export const removePages = forMembers.form('/members/:member_id/remove', async (request) => {
  const { ask, caller } = request;
  const member = await memberOf(request);
  const [name, isSelf] = [calledOf(member), member.id === caller.user];
  return {
    fresh: () => (isSelf ? seeOther('/members/leave') : proofFirst(request)),
    shown: (state) =>
      confirm({
        title: `Remove ${name}`,
        place: 'members',
        sentence: `Remove ${name} from ${caller.organisation.name}?`,
        below: html`
      ${member.email} loses access at once. Their tokens and their own channels are deleted;
      monitors and everything else stay.
    `,
        trail,
        state,
        act: 'Remove member',
      }),
    fields: [],
    act: async () => {
      await ask(removeMember, { member_id: member.id });
      return isSelf
        ? seeOther('/organisations', { said: `You left ${caller.organisation.name}.` })
        : seeOther('/members', { said: `${name} removed.` });
    },
  };
});

export const memberActs: readonly Page[] = [...rolePages, ...removePages];

/** Who is in the organisation. */
export const membersPage = forMembers.get('/members', async (request) => {
  const { ask, may, caller } = request;
  const { items } = await ask(listMembers);
  const [only] = items;
  const sentence =
    items.length === 1 && only?.id === caller.user
      ? 'You are the only member'
      : `${items.length} members of ${caller.organisation.name}`;
  return show({
    title: 'Members',
    place: 'members',
    main: html`
        ${heading({
          sentence,
          below: html`
            ${rolesText(items)}${!may(inviteMember) && '. Owners and admins can invite members.'}
          `,
          actions: html`
            ${
              may(inviteMember) &&
              linkButton('/members/invite', 'Invite member', { main: true, symbol: 'add' })
            }
            ${
              items.length > 1 &&
              moreActions(
                menuLink('/members/leave', 'Leave organisation', { symbol: 'leave', danger: true }),
              )
            }
          `,
        })}
        ${table(items.map((each) => rowOf(each, request)))}
        ${await invitationsTable(request)}
      `,
  });
});

/** `1 owner, 1 admin, 3 viewers` */
function rolesText(items: readonly Member[]): string {
  const counts = ['owner', 'admin', 'member', 'viewer'].map(
    (role) => [items.filter((each) => each.role === role).length, role] as const,
  );
  return listInWords(
    counts.flatMap(([count, role]) =>
      count === 0 ? [] : [`${count} ${role}${count === 1 ? '' : 's'}`],
    ),
  );
}

function rowOf(member: Member, { may, times, caller }: MembersRequest) {
  const { id, name, email, role, joined_at } = member;
  const isSelf = id === caller.user;
  return {
    id: `member-${id}`,
    Member: led(
      initialsOf(calledOf(member)),
      html`<b>${calledOf(member)}</b>`,
      [isSelf ? 'You' : [], name === '' ? [] : email].flat().join(' · '),
    ),
    Role: capital(role),
    Since: times.day(joined_at),
    ...(may(setMemberRole) && {
      More: acts(
        menu({
          id: `member-menu-${id}`,
          words: icon('more'),
          name: `More for ${email}`,
          className: 'button button-quiet',
          body: html`
            ${menuLink(`/members/${id}/role`, 'Change role', { symbol: 'edit' })}
            ${
              !isSelf &&
              menuLink(`/members/${id}/remove`, 'Remove', { symbol: 'delete', danger: true })
            }
          `,
        }),
      ),
    }),
  };
}

async function invitationsTable({ ask, may, times }: MembersRequest): Promise<Html | null> {
  if (!may(listInvitations)) return null;
  const { items } = await ask(listInvitations);
  if (items.length === 0) return null;
  return html`
    <section>
      <h2>Pending invitations</h2>
      ${table(
        items.map(({ id, email, role, inviter, expires_at }) => ({
          id: `invitation-${id}`,
          Address: email,
          Role: capital(role),
          'Invited by': inviter ?? 'the operator',
          Expires: times.moment(expires_at),
          'Renew or revoke': acts(html`
            <div class="actions">
              ${rowAct({
                symbol: 'send',
                words: 'Renew',
                of: `the invitation of ${email}`,
                href: `/members/invitations/${id}/renew`,
              })}
              <form method="post" action="/members/invitations/${id}/withdraw">
                ${rowAct({ symbol: 'delete', words: 'Revoke', of: `the invitation of ${email}` })}
              </form>
            </div>
          `),
        })),
      )}
    </section>
  `;
}

function form({ caller }: MembersRequest, state: FormState): PageAnswer {
  return show({
    title: 'Invite member',
    place: 'members',
    status: state.status,
    main: html`
      ${heading({
        sentence: `Invite a member to ${caller.organisation.name}`,
        below:
          'The invitation is a link that works once, for one week. Anyone who has it can join.',
        trail,
      })}
      ${formSummary(state)}
      <form class="card form" method="post">
        ${textField({
          name: 'email',
          label: 'E-mail',
          type: 'email',
          autocomplete: 'off',
          required: true,
          autofocus: true,
          state,
        })}
        ${choiceField({ name: 'role', label: 'Role', choices: rolesFor(caller.role), state })}
        <div class="actions">
          <button class="button button-main">Send invitation</button>
          ${linkButton('/members', 'Cancel')}
        </div>
      </form>
    `,
  });
}

export const invitePages = forMembers.form('/members/invite', (request) => ({
  fresh: () => proofFirst(request) ?? formOf({ role: 'member' }),
  shown: (state) => form(request, state),
  fields: ['email', 'role'],
  act: () => {
    const { form: sent } = request;
    return invitedAs(request, { email: sent.value('email') ?? '', role: sent.value('role') ?? '' });
  },
}));

async function invitedAs(
  request: MembersRequest,
  input: { readonly email: string; readonly role: string },
): Promise<PageAnswer> {
  const { address, email } = await request.ask(inviteMember, input);
  return address === null
    ? seeOther('/members', { said: `Invitation sent to ${email}.` })
    : shown(address, email);
}

/** Where no mail can be sent, the inviter sees the link, once. */
function shown(address: string, email: string): PageAnswer {
  return show({
    title: 'Invitation link',
    place: 'members',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Invitation created',
        below: html`This installation sends no e-mail. Send this link to <b>${email}</b> yourself.`,
        trail,
      })}
      <div class="card stack">
        ${copyable(address, 'the link')}
        ${notice(
          'information',
          'You see this link only once',
          'Anyone with it can join, once, within a week. You can revoke it under Members.',
        )}
      </div>
      <p class="actions">${linkButton('/members', 'Done')}</p>
    `,
  });
}

export const takeBack = forMembers.post(
  '/members/invitations/:invitation_id/withdraw',
  async ({ ask, path }) => {
    await ask(withdrawInvitation, { invitation_id: path.invitation_id });
    return seeOther('/members', { said: 'Invitation revoked. Its link no longer works.' });
  },
);

export const renewPages = forMembers.form(
  '/members/invitations/:invitation_id/renew',
  async (request) => {
    const { email, role } = await invitationOf(request);
    return {
      fresh: () => proofFirst(request),
      shown: (state) =>
        confirm({
          state,
          title: 'Renew invitation',
          place: 'members',
          sentence: `Renew the invitation of ${email}?`,
          below: `As ${role}, for another week. The old link stops working, and a new one replaces it.`,
          trail,
          act: html`<button class="button button-main">${icon('send')}Renew invitation</button>`,
        }),
      act: () => invitedAs(request, { email, role }),
    };
  },
);

async function invitationOf(
  request: MembersRequest,
): Promise<{ readonly email: string; readonly role: string }> {
  refuseUnlessMay(request, inviteMember);
  const { items } = await request.ask(listInvitations);
  const invitation = items.find(({ id }) => id === request.path.invitation_id);
  if (!invitation) throw new Refusal('invitation_not_found', 'Invitation not found.');
  return invitation;
}

export const memberPages: readonly Page[] = [
  membersPage,
  ...leavePages,
  ...invitePages,
  ...renewPages,
  takeBack,
  ...memberActs,
];
