import type { OutputOf } from '../../shared/api/operation.ts';
import { endProbe, inviteProbe, listProbeInvitations, revokeProbeInvitation } from '../../shared/api/probes.ts';
import { continents } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { countInWords } from '../../shared/base/text.ts';
import { durationText } from '../../shared/base/time.ts';
import { type MapPoint, worldMap } from '../incidents/pages/evidence.ts';
import { proofFirst } from '../people/pages/parts.ts';
import { formOf } from '../web/form-data.ts';
import { attempt, type FormState, formSummary, freshForm, refuseUnlessMay, selectField, textField, typed } from '../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../web/html.ts';
import { countText, heading, linkButton, notice, type State, stateMark } from '../web/layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web/page.ts';
import { countedMinutes, listCheckers, showOwnProbe } from './contract.ts';

type Probe = OutputOf<typeof showOwnProbe>;

/** At most this many are named; owners of more know what they are. */
const mostNamed = 10;

const left = ({ monitors, monitor_count }: Probe): Html => {
  if (monitor_count === 0)
    return notice('information', 'No monitor names it.', 'Nothing that is checked now is checked any less without it.');
  const named = monitors.slice(0, mostNamed);
  const more = monitor_count - named.length;
  const title = monitor_count === 1 ? 'Nobody will check one monitor.' : `Nobody will check ${countText(monitor_count)} monitors.`;
  return notice(
    'verifying',
    title,
    html`Only this probe checks ${named.map(({ id, name }, at) => html`${at > 0 && ', '}<a href="${safeUrl(`/monitors/${id}`)}">${name}</a>`)}${
      more > 0 && ` and ${countText(more)} more`
    }. ${monitor_count === 1 ? 'It is' : 'They are'} not checked any more, and you are told of nothing there, until ${monitor_count === 1 ? 'it names' : 'they name'} another probe or none.`,
  );
};

const form = (probe: Probe, state: FormState): PageAnswer =>
  show({
    title: `End ${probe.name}`,
    place: 'probes',
    status: state.status,
    main: html`${heading({
      sentence: `End the probe ${probe.name} for good?`,
      below:
        'Its credentials are void at once: its host can come back only with a new invitation, as another probe. What it has seen stays.',
      trail: [{ href: '/probes', name: 'Probes' }],
    })}${left(probe)}${formSummary(state)}<form class="form" method="post">${textField({
      ...{ name: 'name', label: 'To be sure, type its name', state, autocomplete: 'off', required: true, autofocus: true },
      help: html`<span class="name-to-type">${probe.name}</span>`,
    })}<div class="actions"><button class="button button-danger">${icon('delete')}End this probe</button>${linkButton('/probes', 'Leave it')}</div></form>`,
  });

const probeOf = async (request: MembersRequest): Promise<Probe> => {
  refuseUnlessMay(request, endProbe);
  return request.ask(showOwnProbe, { probe_id: request.path.probe_id });
};

const path = '/probes/:probe_id/end';

export const probeEndPages: readonly Page[] = [
  { method: 'GET', path, needs: 'member', answer: async (request) => form(await probeOf(request), freshForm(request.form)) },
  {
    method: 'POST',
    path,
    needs: 'member',
    answer: async (request) => {
      const probe = await probeOf(request);
      const { form: sent, ask } = request;
      if (typed(sent.value('name') ?? '') !== typed(probe.name))
        return form(probe, {
          form: sent,
          faults: new Map([['name', 'This is not its name: type it as it stands here.']]),
          objections: [],
          status: 400,
        });
      await ask(endProbe, { probe_id: probe.id });
      return seeOther('/probes', { said: `The probe ${probe.name} is ended; its credentials are void.` });
    },
  },
];

type Invitation = OutputOf<typeof listProbeInvitations>['items'][number];

const trail = [{ href: '/probes', name: 'Probes' }];

/** Invitations that can still be used; a host that has joined is listed among the probes. */
export const openInvitations = async (request: MembersRequest): Promise<Html | null> => {
  if (!request.may(listProbeInvitations)) return null;
  const { items } = await request.ask(listProbeInvitations);
  const open = items.filter(({ state }) => state === 'open');
  if (open.length === 0) return null;
  return html`<section><div class="section-head"><h2>Invited, and not here yet</h2></div><div class="table-card"><table class="cards"><thead><tr><th scope="col">Probe</th><th scope="col">Where</th><th scope="col">Token</th><th scope="col">Good until</th><th scope="col"><span class="unseen">Take it back</span></th></tr></thead><tbody>${open.map(
    ({ id, name, continent, shown, expires_at }) =>
      html`<tr id="invitation-${id}"><td data-label="Probe"><a href="/probes/invitations/${id}">${name}</a></td><td data-label="Where">${continent}</td><td data-label="Token"><code>${shown}…</code></td><td data-label="Good until">${request.times.moment(expires_at)}</td><td class="number"><form method="post" action="/probes/invitations/${id}/withdraw"><button class="button">Take back<span class="unseen"> the invitation of ${name}</span></button></form></td></tr>`,
  )}</tbody></table></div></section>`;
};

const probeInvitationsForm = (state: FormState): PageAnswer =>
  show({
    title: 'Invite a probe',
    place: 'probes',
    status: state.status,
    main: html`${heading({ sentence: 'Which host of yours is to check?', below: 'It checks for you alone, also what only it can reach. It needs Node 26 and a way out to the Internet, no open port.', trail })}
${formSummary(state)}<form class="form" method="post">
${textField({ name: 'name', label: 'Name', required: true, autofocus: true, autocomplete: 'off', placeholder: 'Office, rack 2', help: 'Incidents say who saw them.', state })}
${selectField({ name: 'continent', label: 'It stands in', choices: continents.map((value) => ({ value, label: value })), state })}
<div class="actions"><button class="button button-main">Make the line to type there</button>${linkButton('/probes', 'Leave it')}</div></form>`,
  });

export const invitePage: Page = {
  method: 'GET',
  path: '/probes/invite',
  needs: 'member',
  answer: (request) => {
    refuseUnlessMay(request, inviteProbe);
    return proofFirst(request) ?? probeInvitationsForm(freshForm(formOf({ name: '', continent: 'Europe' })));
  },
};

type Step = { readonly done: boolean; readonly words: string };

/** Its progress so far, as steps and in one sentence. */
const standing = async (
  request: MembersRequest,
  invitation: Invitation,
): Promise<{ readonly sentence: string; readonly steps: readonly Step[] }> => {
  const { name, state, probe, heard_at } = invitation;
  const { items } = probe === null ? { items: [] } : await request.ask(listCheckers);
  const hasChecked = items.some(({ id, has_checked }) => id === probe && has_checked);
  const steps = [
    { done: true, words: 'Invited' },
    { done: probe !== null, words: probe === null ? 'The line is typed there' : 'It has joined, with a key that it made itself' },
    { done: heard_at !== null, words: heard_at === null ? 'It is heard' : 'It is heard: clock, keys and addresses are exchanged' },
    {
      done: hasChecked,
      words: hasChecked ? 'It has made its first check' : 'It makes its first check, as soon as a monitor names it',
    },
  ];
  if (hasChecked) return { sentence: `${name} checks for you.`, steps };
  if (heard_at !== null) return { sentence: `${name} is here.`, steps };
  if (probe !== null) return { sentence: `${name} has joined.`, steps };
  return { sentence: state === 'expired' ? `Nobody became ${name} in time.` : `Waiting for ${name}.`, steps };
};

const whatCame = async (request: MembersRequest, invitation: Invitation): Promise<{ readonly sentence: string; readonly came: Html }> => {
  const { sentence, steps } = await standing(request, invitation);
  const isDone = steps.every(({ done }) => done);
  // Nothing notifies a page of a first check, so the page reloads while it waits.
  const awaits = !isDone && invitation.state !== 'expired';
  const came = html`<section class="after" id="came"${awaits && html` data-awaits`}><h2>What came of it</h2>${
    isDone && notice('up', 'The first check is made.', html`From now on this host has a say. <a href="/probes">All probes</a>`)
  }<div class="card stack"><ul class="joined-steps">${steps.map(
    ({ done, words }) => html`<li>${stateMark(done ? 'up' : 'pending', words)}</li>`,
  )}</ul>${invitation.state === 'expired' && html`<p class="soft">The hour of its token is over. <a href="/probes/invite">Invite it anew.</a></p>`}</div></section>`;
  return { sentence, came };
};

/** The command, shown only once, and its progress as it happens. */
const made = async (request: MembersRequest, invitation: OutputOf<typeof inviteProbe>): Promise<PageAnswer> => {
  const { id, name, command } = invitation;
  const { sentence, came } = await whatCame(request, invitation);
  return show({
    title: `Waiting for ${name}`,
    place: 'probes',
    live: `/probes/invitations/${id}`,
    headers: { 'cache-control': 'no-store' },
    main: html`${heading({ sentence, below: 'Type the line there. This page watches for it.', trail })}
<div class="card stack" id="join-line" data-kept><p class="copyable"><code>${command}</code><button class="button" type="button" data-copy="${command}" hidden>${icon('copy')}Copy<span class="unseen"> the line for ${name}</span></button></p>
${notice('information', 'It is shown only now, and good once within the hour.', html`Whoever types it first is the probe, and sees what your monitors check. Behind it, <code>--install</code> as root makes a service of it; <code>PROBE_ALLOW_CIDRS=10.0.0.0/8</code> before <code>node</code> lets it check private addresses there.`)}</div>
${came}<p class="actions after">${linkButton('/probes', 'To the probes')}</p>`,
  });
};

export const invite: Page = {
  method: 'POST',
  path: '/probes/invite',
  needs: 'member',
  answer: async (request) => {
    const { form: sent, ask } = request;
    const input = { name: sent.value('name') ?? '', continent: sent.value('continent') ?? '' };
    const tried = await attempt(sent, () => ask(inviteProbe, input), ['name', 'continent']);
    return 'refused' in tried ? probeInvitationsForm(tried.refused) : made(request, tried.done);
  },
};

export const invitationPage: Page = {
  method: 'GET',
  path: '/probes/invitations/:probe_invitation_id',
  needs: 'member',
  answer: async (request) => {
    refuseUnlessMay(request, listProbeInvitations);
    const { items } = await request.ask(listProbeInvitations, { limit: '200' });
    const invitation = items.find(({ id }) => id === request.path.probe_invitation_id);
    if (!invitation) throw new Refusal('invitation_not_found', 'There is no such invitation.');
    const { sentence, came } = await whatCame(request, invitation);
    const below = invitation.state === 'open' ? 'Its line is typed there. This page watches for it.' : undefined;
    return show({
      title: sentence.replace(/\.$/, ''),
      place: 'probes',
      live: true,
      main: html`${heading({ sentence, below, trail })}${came}<p class="actions after">${linkButton('/probes', 'To the probes')}</p>`,
    });
  },
};

export const withdraw: Page = {
  method: 'POST',
  path: '/probes/invitations/:probe_invitation_id/withdraw',
  needs: 'member',
  answer: async ({ ask, path }) => {
    await ask(revokeProbeInvitation, { probe_invitation_id: path.probe_invitation_id });
    return seeOther('/probes', { said: 'The invitation is taken back; its token is good for nothing now.' });
  },
};

export const probeInvitationPages: readonly Page[] = [invitePage, invite, invitationPage, withdraw];

type Checker = OutputOf<typeof listCheckers>['items'][number];

const marks: Readonly<Record<string, readonly [state: State, words: string]>> = {
  well: ['up', 'Well'],
  lost: ['down', 'Not heard'],
  doubted: ['verifying', 'Place doubted'],
  quarantined: ['verifying', 'Quarantined'],
  unseen: ['pending', 'Never heard yet'],
};

const markOf = ({ state }: Checker): Html => {
  const [shape, words] = marks[state] ?? ['unknown', state];
  return stateMark(shape, words);
};

/** The error of its host's clock. It is corrected, so it is no fault, only worth knowing. */
export const clockText = (offset_ms: number | null): string => {
  if (offset_ms === null) return '–';
  if (offset_ms === 0) return 'right';
  return `${durationText(Math.abs(offset_ms))} ${offset_ms > 0 ? 'behind' : 'ahead'}`;
};

export const refutedText = ({ refuted, targets }: Pick<Checker, 'refuted' | 'targets'>): string => {
  if (targets === null || refuted === 0) return 'nothing';
  return `${refuted} of ${targets} hosts (${Math.round((100 * refuted) / Math.max(1, targets))} %)`;
};

const checkedText = ({ monitors, checks }: Checker): string =>
  monitors === 0 ? 'nothing' : `${countText(monitors)} ${monitors === 1 ? 'monitor' : 'monitors'}, ${countText(checks)} looks`;

const placeWords: Readonly<Record<string, string>> = {
  not_proven: 'not proven',
  doubted: 'doubted',
  trusted: 'the operator’s word',
};

/** A private probe checks for people who know where it is. */
const placeText = (checker: Checker): string => (checker.private ? 'yours to know' : (placeWords[checker.place] ?? checker.place));

const rowOf = (checker: Checker, { times, may }: MembersRequest): Html => {
  const { id, name, version, last_seen_at, quarantine_reason, doubt, state, clock_offset_ms } = checker;
  return html`<tr id="probe-${id}" data-row><td data-label="State"><span>${markOf(checker)}${(state === 'quarantined' || state === 'doubted') && html`<span class="window-near">${(state === 'doubted' ? doubt : quarantine_reason) ?? 'It is not believed for now'}. What it says counts as unknown.</span>`}</span></td><td data-label="Probe"><span><b>${name}</b>${checker.private && html` <span class="softer">· your own${may(endProbe) && html` · <a href="/probes/${id}/end">end<span class="unseen"> the probe ${name}</span></a>`}</span>`}</span></td><td data-label="Place">${placeText(checker)}</td><td data-label="Checked for you">${checkedText(checker)}</td><td data-label="Refuted">${refutedText(checker)}</td><td data-label="Clock">${clockText(clock_offset_ms)}</td><td data-label="Version">${version ?? '–'}</td><td data-label="Last heard" class="number">${last_seen_at === null ? 'never' : times.ago(last_seen_at)}</td></tr>`;
};

const byContinent = (items: readonly Checker[]): ReadonlyMap<string, readonly Checker[]> => {
  const found = new Map<string, Checker[]>();
  for (const item of items) found.set(item.continent, [...(found.get(item.continent) ?? []), item]);
  return found;
};

const isWell = ({ state }: Checker): boolean => state === 'well';

const sentenceOf = (items: readonly Checker[], continents: number): string => {
  const [ill, ...others] = items.filter((each) => !isWell(each) && each.state !== 'unseen');
  if (ill) {
    const words = ill.state === 'lost' ? 'is not heard' : 'is not believed for now';
    return others.length === 0 ? `${ill.name} ${words}.` : `${ill.name} ${words}, and so are ${others.length} more not well.`;
  }
  const well = items.filter(isWell).length;
  if (well === 0) return 'No probe was heard yet.';
  const from = `from ${countInWords(continents)} ${continents === 1 ? 'continent' : 'continents'}`;
  return well === 1
    ? `One probe checks, ${from}.`
    : `${countInWords(well).replace(/^./, (letter) => letter.toUpperCase())} probes check, ${from}.`;
};

const pointsOf = (continents: ReadonlyMap<string, readonly Checker[]>): readonly MapPoint[] =>
  [...continents].map(([continent, items]) => {
    const well = items.filter(isWell).length;
    return {
      continent,
      outcome: well > 0 ? 'ok' : 'unknown',
      label: continent,
      below: well === items.length ? `${well} well` : `${well} of ${items.length} well`,
    };
  });

/** The probes, and reasons to trust them. */
export const probesPage: Page = {
  method: 'GET',
  path: '/probes',
  needs: 'member',
  answer: async (request) => {
    const { items } = await request.ask(listCheckers);
    const invitations = await openInvitations(request);
    const add = request.may(inviteProbe) && linkButton('/probes/invite', 'Invite a probe', { symbol: 'add' });
    const continents = byContinent(items);
    const heard = new Set(items.filter(isWell).map(({ continent }) => continent)).size;
    const sentence = sentenceOf(items, heard);
    const below = 'An outage counts only when a second continent sees it too, and whom the others often refute is not believed.';
    if (items.length === 0)
      return show({
        ...{ title: 'Probes', place: 'probes', live: true },
        main: html`${heading({
          sentence: 'No probe checks yet.',
          below: 'The operator of this installation adds them; what they see stands here then.',
          actions: add,
        })}${invitations}`,
      });
    const points = pointsOf(continents);
    return show({
      title: items.some((each) => each.state === 'lost') ? 'Not heard: a probe' : 'Probes',
      place: 'probes',
      live: true,
      main: html`<div class="window-page">${heading({ sentence, below, actions: add })}${
        heard === 1 &&
        notice(
          'information',
          'Only one continent checks.',
          'Nobody elsewhere can confirm what it sees: an outage counts after three failures in a row.',
        )
      }<div class="card probes-map">${worldMap(points, points.map(({ label, below: words }) => `${label}: ${words}`).join('; '))}</div>${[
        ...continents,
      ].map(
        ([continent, own]) =>
          html`<section><div class="section-head"><h2>${continent}</h2></div><div class="table-card"><table class="cards probes"><thead><tr><th scope="col">State</th><th scope="col">Probe</th><th scope="col">Place</th><th scope="col">Checked for you</th><th scope="col">Refuted</th><th scope="col">Clock</th><th scope="col">Version</th><th scope="col" class="number">Last heard</th></tr></thead><tbody>${own.map((each) => rowOf(each, request))}</tbody></table></div></section>`,
      )}${invitations}<section class="card stack"><h2>How to read this</h2><p class="soft">Checked for you: what it looked at in the last ${countedMinutes} minutes. Refuted: hosts that it saw failing while other continents saw them well; at 40 % of them, of three at least, it is quarantined, and comes back after a run of right looks. Place: nothing proves that a probe is on its continent, but how soon its host answers probes elsewhere can show that it is not; one that is too near to two other continents is doubted, and confirms nothing until the operator says that it is there. Clock: how wrong its host’s is; times are corrected by that, measured with every sign of life.</p></section></div>`,
    });
  },
};
