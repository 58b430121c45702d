import type { OutputOf } from '../../shared/api/operation.ts';
import {
  inviteProbe,
  listProbeInvitations,
  listProbes,
  revokeProbeInvitation,
} from '../../shared/api/probes.ts';
import { continents } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { getMonitorChoices } from '../monitors/contract.ts';
import { proofFirst } from '../people/pages/parts.ts';
import { copyable, heading, linkButton, notice, rowAct, stateMark } from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  type FormState,
  formSummary,
  refuseUnlessMay,
  selectField,
  textField,
} from '../web/forms.ts';
import { type Html, html } from '../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../web/page.ts';
import { acts, table } from '../web/tables.ts';

const trail = [{ href: '/probes', name: 'Probes' }];

/** Invitations that can still be used; a host that has joined is listed among the probes. */
export async function openInvitations(request: MembersRequest): Promise<Html | null> {
  if (!request.may(listProbeInvitations)) return null;
  const { items } = await request.ask(listProbeInvitations);
  const open = items.filter(({ state }) => state === 'open');
  if (open.length === 0) return null;
  return html`
    <section>
      <div class="section-head"><h2>Pending invitations</h2></div>
      ${table(
        open.map(({ id, name, continent, shown, expires_at }) => ({
          id: `invitation-${id}`,
          Probe: html`<a class="row-link" href="/probes/invitations/${id}">${name}</a>`,
          Continent: continent,
          Token: html`<code>${shown}…</code>`,
          Expires: request.times.moment(expires_at),
          Revoke: acts(html`
            <form method="post" action="/probes/invitations/${id}/withdraw">
              ${rowAct({ symbol: 'delete', words: 'Revoke', of: `the invitation of ${name}` })}
            </form>
          `),
        })),
      )}
    </section>
  `;
}

export const invitePages = forMembers.form('/probes/invite', (request) => ({
  fresh: () =>
    refuseUnlessMay(request, inviteProbe) ??
    proofFirst(request) ??
    formOf({ name: '', place: '', continent: 'Europe' }),
  shown: async (state) => probeInvitationsForm(await placesFrom(request), state),
  fields: ['name', 'place', 'continent'],
  act: async () => {
    const { form, ask } = request;
    const place = form.value('place') || null;
    const where = place === null ? { continent: form.value('continent') ?? '' } : { place };
    return made(request, await ask(inviteProbe, { name: form.value('name') ?? '', ...where }));
  },
}));

type Place = OutputOf<typeof getMonitorChoices>['places'][number];

function probeInvitationsForm(places: readonly Place[], state: FormState): PageAnswer {
  return show({
    title: 'Add private probe',
    place: 'probes',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Add private probe',
        below: html`
          Runs on your own host and checks only for you, also inside your network. It needs Node 26 and
          outgoing Internet access, but no open port. <a href="/docs/probes">How to run a probe</a>
        `,
        trail,
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'name',
          label: 'Name',
          required: true,
          autofocus: true,
          autocomplete: 'off',
          placeholder: 'Office, rack 2',
          help: 'Shown in incidents.',
          state,
        })}
        ${placeField(places, state)}
        ${selectField({
          name: 'continent',
          label: 'Continent',
          choices: continents.map((value) => ({ value, label: value })),
          ...(places.length > 0 && { help: 'Counts for a new place only.' }),
          state,
        })}
        <div class="actions">
          <button class="button button-main">Create install command</button>
          ${linkButton('/probes', 'Cancel')}
        </div>
      </form>
    `,
  });
}

/** A second probe in a place is its spare. */
function placeField(places: readonly Place[], state: FormState): Html | false {
  return (
    places.length > 0 &&
    selectField({
      name: 'place',
      label: 'Place',
      choices: [
        { value: '', label: 'New place, named after the probe' },
        ...places.map(({ id, name }) => ({ value: id, label: name })),
      ],
      help: 'The probes of a place share its monitors, and check for one another when one is offline.',
      state,
    })
  );
}

async function placesFrom(request: MembersRequest): Promise<readonly Place[]> {
  return (await request.ask(getMonitorChoices)).places;
}

/** The command, shown only once, and its progress as it happens. */
async function made(
  request: MembersRequest,
  invitation: OutputOf<typeof inviteProbe>,
): Promise<PageAnswer> {
  const { id, name, command } = invitation;
  const { sentence, came } = await whatCame(request, invitation);
  return show({
    title: `Waiting for ${name}`,
    place: 'probes',
    live: `/probes/invitations/${id}`,
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({ sentence, below: 'Run this command on the host. This page updates by itself.', trail })}
      <div class="card stack" id="join-line" data-kept>
        ${copyable(command, `the command for ${name}`)}
        ${notice(
          'information',
          'You see this command only once. It works once, within one hour.',
          html`
            The first host that runs it becomes the probe and sees what your monitors check.
            Append <code>--install</code> as root to install a system service.
            Put <code>PROBE_ALLOW_CIDRS=10.0.0.0/8</code> before <code>node</code> to check private
            addresses.
          `,
        )}
      </div>
      ${came}
    `,
  });
}

type Invitation = OutputOf<typeof listProbeInvitations>['items'][number];

async function whatCame(
  request: MembersRequest,
  invitation: Invitation,
): Promise<{ readonly sentence: string; readonly came: Html }> {
  const { sentence, steps } = await standing(request, invitation);
  const isDone = steps.every(({ done }) => done);
  // Nothing notifies a page of a first check, so the page reloads while it waits.
  const awaits = !isDone && invitation.state !== 'expired';
  const came = html`
    <section class="card" id="came"${awaits && html` data-awaits`}>
      <h2>Progress</h2>
      ${
        isDone &&
        notice(
          'up',
          'First check done',
          html`This host now takes part in checks. <a href="/probes">All probes</a>`,
        )
      }
      <ul class="stack">
        ${steps.map(
          ({ done, words }) => html`<li>${stateMark(done ? 'up' : 'pending', words)}</li>`,
        )}
      </ul>
      ${
        invitation.state === 'expired' &&
        html`
          <p class="soft">
            Its token was valid for one hour. <a href="/probes/invite">Invite it again</a>
          </p>
        `
      }
    </section>
  `;
  return { sentence, came };
}

type Step = { readonly done: boolean; readonly words: string };

/** Its progress so far, as steps and in one sentence. */
async function standing(
  request: MembersRequest,
  invitation: Invitation,
): Promise<{ readonly sentence: string; readonly steps: readonly Step[] }> {
  const { name, state, probe, last_seen_at } = invitation;
  const { items } =
    probe === null ? { items: [] } : await request.ask(listProbes, { limit: '200' });
  const hasChecked = items.some(({ id, has_checked }) => id === probe && has_checked);
  const steps = [
    { done: true, words: 'Invited' },
    {
      done: probe !== null,
      words: probe === null ? 'Run the command on the host' : 'Joined with its own key',
    },
    {
      done: last_seen_at !== null,
      words: last_seen_at === null ? 'Connected' : 'Connected: clock, keys and addresses exchanged',
    },
    {
      done: hasChecked,
      words: hasChecked ? 'First check done' : 'First check, once a monitor uses it',
    },
  ];
  if (hasChecked) return { sentence: `${name} is checking`, steps };
  if (last_seen_at !== null) return { sentence: `${name} is connected`, steps };
  if (probe !== null) return { sentence: `${name} has joined`, steps };
  return {
    sentence: state === 'expired' ? `The invitation of ${name} has expired` : `Waiting for ${name}`,
    steps,
  };
}

export const invitationPage = forMembers.get(
  '/probes/invitations/:probe_invitation_id',
  async (request) => {
    refuseUnlessMay(request, listProbeInvitations);
    const { items } = await request.ask(listProbeInvitations, { limit: '200' });
    const invitation = items.find(({ id }) => id === request.path.probe_invitation_id);
    if (!invitation) throw new Refusal('invitation_not_found', 'Invitation not found.');
    const { sentence, came } = await whatCame(request, invitation);
    const below =
      invitation.state === 'open'
        ? 'Run its command on the host. This page updates by itself.'
        : undefined;
    return show({
      title: sentence.replace(/\.$/, ''),
      place: 'probes',
      live: true,
      main: html`
        ${heading({ sentence, below, trail })}
        ${came}
      `,
    });
  },
);

export const withdraw = forMembers.post(
  '/probes/invitations/:probe_invitation_id/withdraw',
  async ({ ask, path }) => {
    await ask(revokeProbeInvitation, { probe_invitation_id: path.probe_invitation_id });
    return seeOther('/probes', { said: 'Invitation revoked. Its token no longer works.' });
  },
);

export const probeInvitationPages: readonly Page[] = [...invitePages, invitationPage, withdraw];
