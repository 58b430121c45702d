import type { OutputOf } from '../../shared/api/operation.ts';
import { capital } from '../../shared/base/text.ts';
import { listAllProbes } from '../probes/contract.ts';
import { confirm } from '../web/confirm.ts';
import {
  countText,
  figure,
  heading,
  linkButton,
  moreLink,
  notice,
  type State,
  stateMark,
} from '../web/elements.ts';
import { type Html, html, icon, type Part, query } from '../web/html.ts';
import { menuLink, moreActions } from '../web/menu.ts';
import { forOperators, type OperatorsRequest, seeOther, show } from '../web/page.ts';
import { number, stacked, table } from '../web/tables.ts';
import {
  dropSetAside,
  listNotices,
  listOrganisations,
  listRefused,
  listSetAside,
  retrySetAside,
  showFigures,
  showSetAside,
} from './contract.ts';

const path = '/operator/set-aside/:set_aside_id';

/** The command shows the rest of longer ones. */
const maxShown = 20_000;

const trail = [{ href: '/operator', name: 'Operator' }];

/** One message that was set aside, with what can be done about it. */
export const setAsidePage = forOperators.get(
  path,
  async ({ askHouse, path: { set_aside_id }, times }) => {
    const { id, subject, reason, at, bytes, attempts, retry_asked_at, data, encoding } =
      await askHouse(showSetAside, { set_aside_id });
    return show({
      title: `Failed message ${id}`,
      place: 'operator',
      main: html`
        ${heading({
          sentence: `Message ${id} could not be processed`,
          below: 'Retry after you fixed the cause, for example by an upgrade. It counts once.',
          trail,
          actions: html`
            <form method="post" action="/operator/set-aside/${id}/retry">
              <button class="button button-main">${icon('again')}Retry</button>
            </form>
            ${moreActions(menuLink(`/operator/set-aside/${id}/delete`, 'Delete', { symbol: 'delete', danger: true }))}
          `,
        })}
        <dl class="card settings lines">
          ${setting('Reason', reason)}
          ${setting('Subject', html`<code>${subject}</code>`)}
          ${setting('Received', times.moment(at))}
          ${setting(
            'Failed retries',
            html`
              ${attempts === 0 ? 'None' : countText(attempts)}
              ${
                retry_asked_at !== null &&
                html`<span class="note">Retry requested ${times.moment(retry_asked_at)}</span>`
              }
            `,
          )}
        </dl>
        <section>
          <div class="section-head">
            <h2>Content</h2>
            <p class="soft">
              ${countText(bytes)} bytes, ${
                encoding === 'text' ? 'unchanged' : 'in base64: it is not text'
              }
              ${
                data.length > maxShown &&
                html`; <code>set-aside show --id ${id}</code> prints the rest`
              }
            </p>
          </div>
          <div class="card"><pre>${data.slice(0, maxShown)}</pre></div>
        </section>
      `,
    });
  },
);

function setting(label: string, value: Part): Html {
  return html`<div class="setting"><dt>${label}</dt><dd>${value}</dd></div>`;
}

export const dropSetAsidePages = forOperators.form(
  `${path}/delete`,
  ({ askHouse, path: { set_aside_id = '' } }) => ({
    shown: async (state) => {
      const { id } = await askHouse(showSetAside, { set_aside_id });
      return confirm({
        state,
        title: `Delete message ${id}`,
        place: 'operator',
        below: 'Its content is lost. You cannot undo this.',
        trail: [...trail, { href: `/operator/set-aside/${id}`, name: `Message ${id}` }],
        act: 'Delete message',
      });
    },
    act: async () => {
      await askHouse(dropSetAside, { set_aside_id });
      return seeOther('/operator', { said: `Message ${set_aside_id} deleted.` });
    },
  }),
);

export const retrySetAsidePage = forOperators.post(
  `${path}/retry`,
  async ({ askHouse, path: { set_aside_id } }) => {
    const { asked } = await askHouse(retrySetAside, { set_aside_id });
    const said =
      asked.length > 0
        ? 'is being retried'
        : 'is already waiting for a retry, or cannot be retried';
    return seeOther('/operator', { said: `Message ${set_aside_id} ${said}.` });
  },
);

/** For lists that can grow long; the commands show all. */
const maxRows = 50;

/** What the operator wants to know about the installation, urgent things first. */
export const operatorPage = forOperators.get('/operator', async (request) => {
  const { askHouse, query: asked } = request;
  const [notices, figures, organisations, probes, refused, aside] = await Promise.all([
    askHouse(listNotices),
    askHouse(showFigures),
    askHouse(listOrganisations, asked.cursor === undefined ? {} : { cursor: asked.cursor }),
    askHouse(listAllProbes),
    askHouse(listRefused),
    askHouse(listSetAside),
  ]);
  return show({
    title: notices.open > 0 ? `${notices.open} open · Operator` : 'Operator',
    place: 'operator',
    main: html`
        ${heading({
          sentence: sentenceOf(notices, aside.count),
          below: html`
            Version ${figures.version}, time zone data ${zonesText(figures.time_zone_data)}.${' '}
            ${watcherText(figures.watcher, request.times)}
          `,
          actions:
            request.with.ownRecord(true) !== undefined && linkButton('/about', 'Service status'),
        })}
        <dl class="figures">
          ${figure('Organisations', countText(figures.organisations))}
          ${figure('Monitors', countText(figures.monitors.reduce((sum, { count }) => sum + count, 0)))}
          ${figure('Checks in the last hour', figures.checks === null ? '–' : countText(figures.checks.count))}
          ${figure('Open incidents', countText(figures.open_incidents))}
          ${figure('Alerts waiting', countText(figures.alerts_waiting))}
        </dl>
        ${noticesOf(notices, request)}
        ${setAsideOf(aside, request)}
        ${probesOf(probes.items, request)}
        ${organisationsOf(organisations, request)}
        ${refusedOf(refused, request)}
      `,
  });
});

function sentenceOf({ open, items }: Notices, aside: number): string {
  const only = open === 1 && items.find(({ ended_at }) => ended_at === null);
  const parts = [
    ...(only ? [only.message.replace(/\.$/, '')] : open > 0 ? [`${open} notices are open`] : []),
    ...(aside > 0 ? [aside === 1 ? 'one message failed' : `${aside} messages failed`] : []),
  ];
  return parts.length === 0 ? 'Nothing needs your attention' : capital(parts.join(', and '));
}

type Notices = OutputOf<typeof listNotices>;

/** The headline says which, where only one is open. */
function noticesOf({ open, items }: Notices, { times }: OperatorsRequest): Part {
  const ended = items.flatMap(({ ended_at, ...each }) =>
    ended_at === null ? [] : [{ ...each, ended_at }],
  );
  return [
    items
      .filter(({ ended_at }) => ended_at === null)
      .map(({ message, what_to_do, began_at }) => {
        const since = html`Since ${times.moment(began_at)}.`;
        return open === 1
          ? notice('verifying', what_to_do, since)
          : notice('verifying', message, html`${what_to_do} ${since}`);
      }),
    ended.length > 0 &&
      section(
        'Notices of the last 7 days',
        shortList(
          ended.map(({ message, began_at, ended_at }) => ({
            Notice: message,
            Started: number(times.moment(began_at)),
            Ended: number(times.moment(ended_at)),
          })),
          table,
          'notice list',
        ),
      ),
  ];
}

function section(title: string, ...parts: readonly Part[]): Html {
  return html`<section><h2>${title}</h2>${parts}</section>`;
}

/** The shown rows of a list, and how to see the others. */
function shortList<Row>(
  rows: readonly Row[],
  tableOf: (shown: readonly Row[]) => Html,
  command: string,
): Html {
  return html`
    ${tableOf(rows.slice(0, maxRows))}
    ${
      rows.length > maxRows &&
      html`
        <p class="soft">
          These are the
          first ${maxRows} of ${countText(rows.length)}. <code>${command}</code> prints all.
        </p>
      `
    }
  `;
}

function watcherText(
  watcher: OutputOf<typeof showFigures>['watcher'],
  times: OperatorsRequest['times'],
): Part {
  if (watcher === null)
    return html`<a href="/docs/monitoring#who-watches-it">Nobody watches it yet</a>`;
  const { host, accepted_at } = watcher;
  return accepted_at === null
    ? `${host} watches it, but has accepted no ping yet`
    : html`${host} accepted its ping ${times.ago(accepted_at)}`;
}

function zonesText({
  version,
  released_on,
  least_age_days: days,
}: OutputOf<typeof showFigures>['time_zone_data']): string {
  if (version === null) return 'unknown';
  if (days === null) return version;
  const age = days === 1 ? '1 day' : `${countText(days)} days`;
  return `${version}, ${released_on === null ? 'at least ' : ''}${age} old`;
}

type Organisations = OutputOf<typeof listOrganisations>;

function organisationsOf({ items, next_cursor }: Organisations, { times }: OperatorsRequest): Html {
  return section(
    'Organisations',
    items.length === 0
      ? html`<p class="soft">None</p>`
      : table(
          items.map(({ name, plan, monitors, members, created_at, ends_at }) => ({
            Name: stacked(
              html`<b>${name}</b>`,
              ends_at !== null && html`will be deleted on ${times.day(ends_at)}`,
            ),
            Plan: plan.replace('_', '-'),
            Monitors: number(countText(monitors)),
            Members: number(countText(members)),
            Created: number(times.day(created_at)),
          })),
        ),
    next_cursor !== null &&
      moreLink(`/operator${query({ cursor: next_cursor })}`, 'More organisations'),
  );
}

type Probe = OutputOf<typeof listAllProbes>['items'][number];

function probesOf(items: readonly Probe[], { times }: OperatorsRequest): Html {
  const inUse = items.filter(({ revoked_at }) => revoked_at === null);
  return section(
    'Probes',
    inUse.length === 0
      ? html`<p class="soft">No probes</p>`
      : shortList(
          inUse.map((probe) => ({
            State: stacked(
              stateMark(...stateOf(probe)),
              probe.quarantined && (probe.doubt ?? probe.quarantine_reason),
            ),
            Probe: html`<b>${probe.name}</b>`,
            Continent: probe.continent,
            'Checks for': probe.organisation === null ? 'All organisations' : 'One organisation',
            Version: probe.version ?? '–',
            'Last seen': number(probe.last_seen_at === null ? '–' : times.ago(probe.last_seen_at)),
          })),
          table,
          'probe list',
        ),
  );
}

function stateOf({ quarantined, location, last_seen_at }: Probe): readonly [State, string] {
  if (location === 'doubted') return ['verifying', 'Location doubtful'];
  if (quarantined) return ['verifying', 'Quarantined'];
  return last_seen_at === null ? ['pending', 'Never connected'] : ['up', 'Trusted'];
}

function refusedOf({ items }: OutputOf<typeof listRefused>, { times }: OperatorsRequest): Part {
  return (
    items.length > 0 &&
    section(
      'Messages rejected in the last 7 days',
      shortList(
        items.map(({ probe, probe_name, reason, meaning, count, last_at }) => ({
          From: html`<b>${capital(probe_name ?? probe)}</b>`,
          Reason: stacked(capital(meaning), html`<code>${reason}</code>`),
          When: number(html`${countText(count)} times, last ${times.moment(last_at)}`),
        })),
        table,
        'refused list',
      ),
    )
  );
}

function setAsideOf({ items }: OutputOf<typeof listSetAside>, { times }: OperatorsRequest): Part {
  return (
    items.length > 0 &&
    section(
      'Failed messages',
      shortList(
        items.map(({ id, reason, bytes, at, retry_asked_at }) => ({
          Message: html`<a class="row-link" href="/operator/set-aside/${id}">Message ${id}</a>`,
          Reason: stacked(reason, retry_asked_at !== null && 'Retry requested'),
          Size: number(`${countText(bytes)} bytes`),
          Received: number(times.moment(at)),
        })),
        table,
        'set-aside list',
      ),
    )
  );
}
