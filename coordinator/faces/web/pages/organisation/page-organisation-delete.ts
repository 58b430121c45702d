import { endOrganisation, keepOrganisation } from '../../../../../shared/api/inner/inner-organisation.ts';
import { proofFirst } from '../../parts/part-entry-card.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';

const trail = [{ href: '/organisation', name: 'Organisation' }];

const form = ({ caller: { organisation } }: MembersRequest, state: FormState): PageAnswer =>
  show({
    title: `Delete ${organisation.name}`,
    place: 'organisation',
    status: state.status,
    main: html`${heading({
      sentence: `Delete ${organisation.name} and all that belongs to it?`,
      below: 'You and the other owners have seven days to undo it. After that nobody can bring anything back.',
      trail,
    })}${formSummary(state)}
<section class="card"><h2>What happens at once</h2><ul class="plain-list"><li>All monitors are paused, and all alerts are muted.</li><li>Its status pages are shown to nobody.</li><li>Nothing in it can be changed, and nobody can join it; programs with a token can still read.</li><li>All owners get a mail.</li></ul></section>
<section class="card after"><h2>What happens in seven days</h2><ul class="plain-list"><li>Monitors, incidents, uptime, status pages with their subscribers, channels, private probes and the audit log are deleted.</li><li>Its people keep their accounts.</li></ul>
<p><a href="/organisation/export">Take all of it along first</a>, as one file.</p></section>
<form class="form after" method="post">${textField({
      ...{ name: 'name', label: 'To be sure, type its name', state, autocomplete: 'off', required: true },
      help: html`<span class="name-to-type">${organisation.name}</span>`,
    })}<div class="actions"><button class="button button-danger">${icon('delete')}Delete it in seven days</button>${linkButton('/organisation', 'Leave it')}</div></form>`,
  });

export const deletePage: Page = {
  method: 'GET',
  path: '/organisation/delete',
  needs: 'member',
  answer: (request) => {
    refuseUnlessMay(request, endOrganisation);
    return proofFirst(request) ?? form(request, freshForm(request.form));
  },
};

export const deleteIt: Page = {
  method: 'POST',
  path: '/organisation/delete',
  needs: 'member',
  answer: async (request) => {
    const tried = await attempt(request.form, () => request.ask(endOrganisation, { name: request.form.value('name') ?? '' }), ['name']);
    if ('refused' in tried) return form(request, tried.refused);
    return seeOther('/organisation', {
      said: `${request.caller.organisation.name} will be deleted in seven days; until then you can keep it.`,
    });
  },
};

/** From the notice on every page. */
export const keepIt: Page = {
  method: 'POST',
  path: '/organisation/keep',
  needs: 'member',
  answer: async ({ ask, caller }) => {
    const { resumed } = await ask(keepOrganisation);
    const again = resumed === 1 ? 'One monitor is' : `${resumed} monitors are`;
    return seeOther('/organisation', {
      said: `${caller.organisation.name} stays, and all is as it was.${resumed === 0 ? '' : ` ${again} checked again.`}`,
    });
  },
};
