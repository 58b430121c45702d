import type { OutputOf } from '../../shared/api/operation.ts';
import { endProbe, inviteProbe } from '../../shared/api/probes.ts';
import { countInWords } from '../../shared/base/text.ts';
import { durationText } from '../../shared/base/time.ts';
import { type MapPoint, worldMap } from '../incidents/pages/evidence.ts';
import { countText, heading, linkButton, notice, type State, stateMark } from '../web/elements.ts';
import {
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
  textField,
  typed,
} from '../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web/page.ts';
import { countedMinutes, listCheckers, showOwnProbe } from './contract.ts';
import { openInvitations } from './invitation-pages.ts';

type Probe = OutputOf<typeof showOwnProbe>;

/** At most this many are named; owners of more know what they are. */
const mostNamed = 10;

const left = ({ monitors, monitor_count }: Probe): Html => {
  if (monitor_count === 0)
    return notice(
      'information',
      'No monitor names it.',
      'Nothing that is checked now is checked any less without it.',
    );
  const named = monitors.slice(0, mostNamed);
  const more = monitor_count - named.length;
  const title =
    monitor_count === 1
      ? 'Nobody will check one monitor.'
      : `Nobody will check ${countText(monitor_count)} monitors.`;
  return notice(
    'verifying',
    title,
    html`
      Only this probe
      checks ${named.map(
        ({ id, name }, at) =>
          html`${at > 0 && ', '}<a href="${safeUrl(`/monitors/${id}`)}">${name}</a>`,
      )}
      ${more > 0 && ` and ${countText(more)} more`}. ${monitor_count === 1 ? 'It is' : 'They are'} not
      checked any more, and you are told of nothing there,
      until ${monitor_count === 1 ? 'it names' : 'they name'} another probe or none.
    `,
  );
};

const form = (probe: Probe, state: FormState): PageAnswer =>
  show({
    title: `End ${probe.name}`,
    place: 'probes',
    status: state.status,
    main: html`
      ${heading({
        sentence: `End the probe ${probe.name} for good?`,
        below:
          'Its credentials are void at once: its host can come back only with a new invitation, as another probe. What it has seen stays.',
        trail: [{ href: '/probes', name: 'Probes' }],
      })}
      ${left(probe)}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'name',
          label: 'To be sure, type its name',
          state,
          autocomplete: 'off',
          required: true,
          autofocus: true,
          help: html`<span class="name-to-type">${probe.name}</span>`,
        })}
        <div class="actions">
          <button class="button button-danger">${icon('delete')}End this probe</button>
          ${linkButton('/probes', 'Leave it')}
        </div>
      </form>
    `,
  });

const probeOf = async (request: MembersRequest): Promise<Probe> => {
  refuseUnlessMay(request, endProbe);
  return request.ask(showOwnProbe, { probe_id: request.path.probe_id });
};

const path = '/probes/:probe_id/end';

export const probeEndPages: readonly Page[] = [
  {
    method: 'GET',
    path,
    needs: 'member',
    answer: async (request) => form(await probeOf(request), freshForm(request.form)),
  },
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
      return seeOther('/probes', {
        said: `The probe ${probe.name} is ended; its credentials are void.`,
      });
    },
  },
];

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
  monitors === 0
    ? 'nothing'
    : `${countText(monitors)} ${monitors === 1 ? 'monitor' : 'monitors'}, ${countText(checks)} looks`;

const placeWords: Readonly<Record<string, string>> = {
  not_proven: 'not proven',
  doubted: 'doubted',
  trusted: 'the operator’s word',
};

/** A private probe checks for people who know where it is. */
const placeText = (checker: Checker): string =>
  checker.private ? 'yours to know' : (placeWords[checker.place] ?? checker.place);

const rowOf = (checker: Checker, { times, may }: MembersRequest): Html => {
  const { id, name, version, last_seen_at, quarantine_reason, doubt, state, clock_offset_ms } =
    checker;
  return html`
    <tr id="probe-${id}" data-row>
      <td data-label="State">
        <span>
          ${markOf(checker)}
          ${
            (state === 'quarantined' || state === 'doubted') &&
            html`
              <span class="window-near">
                ${(state === 'doubted' ? doubt : quarantine_reason) ?? 'It is not believed for now'}.
                What it says counts as unknown.
              </span>
            `
          }
        </span>
      </td>
      <td data-label="Probe">
        <span>
          <b>${name}</b>
          ${
            checker.private &&
            html`
              ${' '}
              <span class="softer">
                · your
                own${
                  may(endProbe) &&
                  html`
                    ${' '}· <a href="/probes/${id}/end">
                      end<span class="unseen"> the probe ${name}</span>
                    </a>
                  `
                }
              </span>
            `
          }
        </span>
      </td>
      <td data-label="Place">${placeText(checker)}</td>
      <td data-label="Checked for you">${checkedText(checker)}</td>
      <td data-label="Refuted">${refutedText(checker)}</td>
      <td data-label="Clock">${clockText(clock_offset_ms)}</td>
      <td data-label="Version">${version ?? '–'}</td>
      <td data-label="Last heard" class="number">
        ${last_seen_at === null ? 'never' : times.ago(last_seen_at)}
      </td>
    </tr>
  `;
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
    return others.length === 0
      ? `${ill.name} ${words}.`
      : `${ill.name} ${words}, and so are ${others.length} more not well.`;
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
    const add =
      request.may(inviteProbe) && linkButton('/probes/invite', 'Invite a probe', { symbol: 'add' });
    const continents = byContinent(items);
    const heard = new Set(items.filter(isWell).map(({ continent }) => continent)).size;
    const sentence = sentenceOf(items, heard);
    const below =
      'An outage counts only when a second continent sees it too, and whom the others often refute is not believed.';
    if (items.length === 0)
      return show({
        title: 'Probes',
        place: 'probes',
        live: true,
        main: html`
          ${heading({
            sentence: 'No probe checks yet.',
            below: 'The operator of this installation adds them; what they see stands here then.',
            actions: add,
          })}
          ${invitations}
        `,
      });
    const points = pointsOf(continents);
    return show({
      title: items.some((each) => each.state === 'lost') ? 'Not heard: a probe' : 'Probes',
      place: 'probes',
      live: true,
      main: html`
        <div class="window-page">
          ${heading({ sentence, below, actions: add })}
          ${
            heard === 1 &&
            notice(
              'information',
              'Only one continent checks.',
              'Nobody elsewhere can confirm what it sees: an outage counts after three failures in a row.',
            )
          }
          <div class="card probes-map">
            ${worldMap(
              points,
              points.map(({ label, below: words }) => `${label}: ${words}`).join('; '),
            )}
          </div>
          ${[...continents].map(
            ([continent, own]) =>
              html`
                <section>
                  <div class="section-head"><h2>${continent}</h2></div>
                  <div class="table-card">
                    <table class="cards probes">
                      <thead>
                        <tr>
                          <th scope="col">State</th>
                          <th scope="col">Probe</th>
                          <th scope="col">Place</th>
                          <th scope="col">Checked for you</th>
                          <th scope="col">Refuted</th>
                          <th scope="col">Clock</th>
                          <th scope="col">Version</th>
                          <th scope="col" class="number">Last heard</th>
                        </tr>
                      </thead>
                      <tbody>${own.map((each) => rowOf(each, request))}</tbody>
                    </table>
                  </div>
                </section>
              `,
          )}
          ${invitations}
          <section class="card stack">
            <h2>How to read this</h2>
            <p class="soft">
              Checked for you: what it looked at in the last ${countedMinutes} minutes. Refuted:
              hosts that it saw failing while other continents saw them well; at 40 % of them, of
              three at least, it is quarantined, and comes back after a run of right looks. Place:
              nothing proves that a probe is on its continent, but how soon its host answers probes
              elsewhere can show that it is not; one that is too near to two other continents is
              doubted, and confirms nothing until the operator says that it is there. Clock: how
              wrong its host’s is; times are corrected by that, measured with every sign of life.
            </p>
          </section>
        </div>
      `,
    });
  },
};
