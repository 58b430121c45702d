import { showOwnProbe } from '../../../../shared/api/inner/inner-probes.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { endProbe } from '../../../../shared/api/probes.ts';
import { countText } from '../parts/part-figures.ts';
import { refuseUnlessMay } from '../parts/part-refuse-unless-may.ts';
import { typed } from '../parts/part-typed-name.ts';
import { type FormState, formSummary, freshForm, textField } from '../web-forms.ts';
import { type Html, html, safeUrl } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, linkButton, notice } from '../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web-page.ts';

type Probe = OutputOf<typeof showOwnProbe>;

/** So many are named; whoever has more knows what they are. */
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
