import type { OutputOf } from '../../../shared/api/operation.ts';
import { listAudit, showOrganisation } from '../../../shared/api/organisations.ts';
import { durationText } from '../../../shared/base/time.ts';
import { beginExport, endOrganisation, readExport } from '../../offboarding/contract.ts';
import { proofFirst } from '../../people/pages/parts.ts';
import { confirm } from '../../web/confirm.ts';
import { keepOrganisation } from '../../web/contract.ts';
import { countText, heading, levelBar, linkButton, zoneChoices } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  type FormState,
  formSummary,
  refuseUnlessMay,
  selectField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import {
  deviceZoneFrom,
  forMembers,
  type MembersRequest,
  type PageAnswer,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import { hideFirstSteps, updateOrganisation } from '../contract.ts';

const trail = [{ href: '/organisation', name: 'Organisation' }];

export const deletePages = forMembers.form('/organisation/delete', (request) => ({
  fresh: () => refuseUnlessMay(request, endOrganisation) ?? proofFirst(request),
  shown: (state) => form(request, state),
  fields: ['name'],
  act: async () => {
    await request.ask(endOrganisation, { name: request.form.value('name') ?? '' });
    return seeOther('/organisation', {
      said: `${request.caller.organisation.name} will be deleted in seven days. Until then you can undo it.`,
    });
  },
}));

function form({ caller: { organisation } }: MembersRequest, state: FormState): PageAnswer {
  return confirm({
    title: `Delete ${organisation.name}`,
    place: 'organisation',
    sentence: `Delete ${organisation.name} and everything in it?`,
    below:
      'You and the other owners have seven days to undo it. After that nothing can be restored.',
    trail,
    facts: html`
      <section>
        <h2>What happens at once</h2>
        <ul class="plain-list">
          <li>All monitors are paused, and all alerts are muted.</li>
          <li>Its status pages are hidden.</li>
          <li>
            Nothing in it can be changed, and no one can join. Programs with a token can still
            read.
          </li>
          <li>All owners get an e-mail.</li>
        </ul>
      </section>
      <section>
        <h2>What happens in seven days</h2>
        <ul class="plain-list">
          <li>
            Monitors, incidents, uptime, status pages with their subscribers, channels, private
            probes and the audit log are deleted.
          </li>
          <li>Members keep their accounts.</li>
        </ul>
        <p><a href="/organisation/export">Export everything first</a>, as one file.</p>
      </section>
    `,
    state,
    typed: organisation.name,
    act: 'Delete in seven days',
  });
}

/** From the notice on every page. */
export const keepIt = forMembers.post('/organisation/keep', async ({ ask, caller }) => {
  const { resumed } = await ask(keepOrganisation);
  const again = resumed === 1 ? 'One monitor' : `${resumed} monitors`;
  return seeOther('/organisation', {
    said: `${caller.organisation.name} is no longer being deleted.${resumed === 0 ? '' : ` ${again} resumed.`}`,
  });
});

/** From the list on the dashboard. */
export const hideSteps = forMembers.post('/first-steps/hide', async ({ ask }) => {
  await ask(hideFirstSteps);
  return seeOther('/', { said: 'List hidden.' });
});

const planNames: Readonly<Record<string, string>> = {
  free: 'Free',
  team: 'Team',
  business: 'Business',
  self_hosted: 'Self-hosted',
};

const places: Readonly<Record<string, readonly [words: string, href: string]>> = {
  monitors: ['Monitors', '/'],
  status_pages: ['Status pages', '/status-pages'],
  members: ['Members', '/members'],
  private_probes: ['Private probes', '/probes'],
  channels: ['Channels', '/alerts'],
  webhooks: ['Webhooks', '/webhooks'],
  groups: ['Groups', '/groups'],
  objectives: ['Objectives', '/objectives'],
  windows: ['Maintenance', '/maintenance'],
};

/** Name, plan, and how much of the plan is used. */
export const organisationPage = forMembers.get('/organisation', async (request) => {
  const { ask, may, times } = request;
  const organisation = await ask(showOrganisation);
  const { name, time_zone, plan, created_at, used } = organisation;
  const mayChange = may(updateOrganisation);
  return show({
    title: name,
    place: 'organisation',
    main: html`
        ${heading({
          sentence: name,
          below:
            mayChange || organisation.ends_at !== null
              ? html`Created ${times.day(created_at)}`
              : html`
                Created ${times.day(created_at)}. Owners and admins can change these settings.
              `,
          actions: mayChange && linkButton('/organisation/edit', 'Edit', { symbol: 'edit' }),
        })}
        <dl class="card settings lines">
          ${row(
            'Time zone',
            html`
              ${time_zone}
              <span class="note">
                Pages show times in it, and new maintenance windows follow it.
              </span>
            `,
          )}
          ${row(
            'Plan',
            html`
              ${planNames[plan] ?? plan}
              <span class="note">${planWords(organisation)}</span>
            `,
          )}
          ${
            may(listAudit) &&
            row(
              'Audit log',
              'Who changed what, and when',
              linkButton('/audit', html`View<span class="unseen"> audit log</span>`),
            )
          }
          ${
            may(endOrganisation) &&
            row(
              'Sign-in provider',
              'Lets members sign in at your own provider, with the role of their groups',
              linkButton(
                '/organisation/sign-in',
                html`Change<span class="unseen"> sign-in provider</span>`,
              ),
            )
          }
          ${
            may(beginExport) &&
            row(
              'Your data',
              'Everything, as one file',
              linkButton('/organisation/export', 'Export'),
            )
          }
        </dl>
        <section>
          <h2>Usage</h2>
          <dl class="figures facts-row uses">${used.map(usedRow)}</dl>
        </section>
        ${
          may(endOrganisation) &&
          html`
            <dl class="card settings">
              ${row(
                'Deletion',
                'Deletes everything after seven days. Until then you can undo it.',
                linkButton('/organisation/delete', 'Delete', { danger: true }),
              )}
            </dl>
          `
        }
      `,
  });
});

function row(label: string, value: Part, action: Part = null): Html {
  return html`
    <div class="setting">
      <dt>${label}</dt>
      <dd>${value}</dd>
      <dd class="setting-action">${action}</dd>
    </div>
  `;
}

type Organisation = OutputOf<typeof showOrganisation>;

function planWords({ least_interval_s, used }: Organisation): string {
  if (used.every(({ most }) => most === null)) return 'No limits.';
  const often =
    least_interval_s === 0
      ? ''
      : ` The shortest check interval is ${durationText(least_interval_s * 1_000)}.`;
  return `${often} The operator of this installation can change the plan.`.trim();
}

type Used = Organisation['used'][number];

function usedRow(used: Used): Html {
  const [words, href] = places[used.what] ?? [used.what, '/'];
  return html`
    <div>
      <dt><a href="${safeUrl(href)}">${words}</a></dt>
      <dd>
        <span>
          ${countText(used.count)}
          ${used.most === null ? '' : ` of ${countText(used.most)}`}
        </span>
        ${bar(used)}
      </dd>
    </div>
  `;
}

/** The share in use; from nine tenths on it is highlighted. */
function bar({ count, most }: Used): Html | null {
  if (most === null) return null;
  const share = most === 0 ? 0 : count / most;
  return levelBar(share, share >= 0.9 ? 'verifying' : 'up');
}

export const editPages = forMembers.form('/organisation/edit', (request) => ({
  fresh: () => {
    refuseUnlessMay(request, updateOrganisation);
    const { name, time_zone } = request.caller.organisation;
    return formOf({ name, time_zone });
  },
  shown: (state) => editForm(request, state),
  fields: ['name', 'time_zone'],
  act: async () => {
    const { form, ask } = request;
    const [name, time_zone] = [form.value('name') ?? '', form.value('time_zone') ?? ''];
    await ask(updateOrganisation, { name, time_zone });
    return seeOther('/organisation', { said: 'Organisation updated.' });
  },
}));

function editForm({ caller, cookies }: MembersRequest, state: FormState): PageAnswer {
  return show({
    title: `Edit ${caller.organisation.name}`,
    place: 'organisation',
    status: state.status,
    main: html`
      ${heading({ sentence: `Edit ${caller.organisation.name}`, trail })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'name',
          label: 'Name',
          required: true,
          autocomplete: 'organization',
          help: 'Shown in invitations and alerts.',
          state,
        })}
        ${selectField({
          name: 'time_zone',
          label: 'Time zone',
          choices: zoneChoices(deviceZoneFrom(cookies)),
          help: 'Existing maintenance windows keep their own time zone.',
          state,
        })}
        <div class="actions">
          <button class="button button-main">Save</button>
          ${linkButton('/organisation', 'Cancel')}
        </div>
      </form>
    `,
  });
}

export const exportPages = forMembers.form('/organisation/export', (request) => ({
  fresh: () => refuseUnlessMay(request, beginExport) ?? proofFirst(request),
  shown: (state) =>
    confirm({
      state,
      title: 'Export',
      place: 'organisation',
      sentence: `Export ${request.caller.organisation.name}`,
      below:
        'One JSON file with members, monitors, incidents and their evidence, warnings, hourly figures, maintenance, channels, webhooks, status pages and the audit log.',
      trail,
      facts: html`
        <p>
          Secrets are replaced by <code>***</code>. The file begins with what else is left out, and
          why.
        </p>
        <p class="soft">The export is recorded in the audit log.</p>
      `,
      act: html`<button class="button button-main">${icon('downwards')}Export</button>`,
    }),
  act: async () => {
    const begun = await request.ask(beginExport);
    return send({
      type: 'application/json; charset=utf-8',
      body: exported(request, begun),
      headers: {
        'content-disposition': `attachment; filename="organisation-${new Date(request.now).toISOString().slice(0, 10)}.json"`,
        'cache-control': 'no-store',
      },
    });
  },
}));

/** Valid JSON only when complete: a file that was cut off cannot be mistaken for a whole one. */
async function* exported(
  { ask, now }: MembersRequest,
  { organisation, parts, left_out }: OutputOf<typeof beginExport>,
): AsyncGenerator<string> {
  const head = { exported_at: new Date(now).toISOString(), left_out, organisation };
  yield JSON.stringify(head, null, 1).slice(0, -2);
  for (const part of parts) {
    yield `,\n ${JSON.stringify(part)}: [`;
    let before = '\n  ';
    for (let cursor: string | null = null, more = true; more; ) {
      const { items, next_cursor }: OutputOf<typeof readExport> = await ask(readExport, {
        part,
        limit: 200,
        ...(cursor === null ? {} : { cursor }),
      });
      let text = '';
      for (const item of items) {
        text += before + JSON.stringify(item);
        before = ',\n  ';
      }
      yield text;
      cursor = next_cursor;
      more = next_cursor !== null;
    }
    yield ']';
  }
  yield '\n}\n';
}
