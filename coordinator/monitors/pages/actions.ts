import { deleteMonitor, getMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { heading, linkButton } from '../../web/elements.ts';
import {
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
  textField,
  typed,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import type { Monitor } from './detail.ts';

const monitorOf = async (
  request: MembersRequest,
  operation: Parameters<typeof refuseUnlessMay>[1],
): Promise<Monitor> => {
  const monitor = await request.ask(getMonitor, { monitor_id: request.path.monitor_id });
  refuseUnlessMay(request, operation);
  return monitor;
};

const trailTo = ({ id, name }: Monitor) => [
  { href: '/', name: 'Monitors' },
  { href: `/monitors/${id}`, name },
];

const pauseWords =
  'While paused it is not checked, and nobody is alerted. The time counts neither as up nor as down. An open incident ends.';
const resumeWords = 'Checks start again at once, and you are alerted when it fails.';

const switching = (verb: 'pause' | 'resume'): readonly Page[] => {
  const [Verb, done] = verb === 'pause' ? ['Pause', 'is paused.'] : ['Resume', 'is resumed.'];
  return [
    {
      method: 'GET',
      path: `/monitors/:monitor_id/${verb}`,
      needs: 'member',
      answer: async (request) => {
        const monitor = await monitorOf(request, updateMonitor);
        const { id, name, enabled } = monitor;
        // Redirects also when someone else was faster.
        if (enabled !== (verb === 'pause'))
          return seeOther(`/monitors/${id}`, { said: `${name} ${done}` });
        return show({
          title: `${Verb} ${name}`,
          place: 'monitors',
          main: html`
            ${heading({
              sentence: `${Verb} ${name}?`,
              below: verb === 'pause' ? pauseWords : resumeWords,
              trail: trailTo(monitor),
            })}
            <form class="actions" method="post">
              <button class="button button-main">
                ${icon(verb === 'pause' ? 'pause' : 'play')}
                ${Verb}
              </button>
              ${linkButton(`/monitors/${id}`, 'Cancel')}
            </form>
          `,
        });
      },
    },
    {
      method: 'POST',
      path: `/monitors/:monitor_id/${verb}`,
      needs: 'member',
      answer: async ({ ask, path }) => {
        const { id, name } = await ask(updateMonitor, {
          monitor_id: path.monitor_id,
          enabled: verb === 'resume',
        });
        return seeOther(`/monitors/${id}`, { said: `${name} ${done}` });
      },
    },
  ];
};

const deleteForm = (monitor: Monitor, state: FormState): Html =>
  html`
    ${heading({
      sentence: `Delete ${monitor.name} and its history?`,
      below:
        'Its results, incidents and uptime go with it, also from status pages. This cannot be undone; to stop for a while, pause it.',
      trail: trailTo(monitor),
    })}
    ${formSummary(state)}
    <form class="form" method="post">
      ${textField({
        name: 'name',
        label: 'To be sure, type its name',
        state,
        autocomplete: 'off',
        required: true,
        autofocus: true,
        help: html`<span class="name-to-type">${monitor.name}</span>`,
      })}
      <div class="actions">
        <button class="button button-danger">${icon('delete')}Delete it and its history</button>
        ${linkButton(`/monitors/${monitor.id}`, 'Cancel')}
      </div>
    </form>
  `;

const showDelete = (monitor: Monitor, state: FormState): PageAnswer =>
  show({
    title: `Delete ${monitor.name}`,
    place: 'monitors',
    status: state.status,
    main: deleteForm(monitor, state),
  });

const deletePage: Page = {
  method: 'GET',
  path: '/monitors/:monitor_id/delete',
  needs: 'member',
  answer: async (request) =>
    showDelete(await monitorOf(request, deleteMonitor), freshForm(request.form)),
};

const deletePosted: Page = {
  method: 'POST',
  path: '/monitors/:monitor_id/delete',
  needs: 'member',
  answer: async (request) => {
    const monitor = await monitorOf(request, deleteMonitor);
    const { form, ask } = request;
    if (typed(form.value('name') ?? '') !== typed(monitor.name))
      return showDelete(monitor, {
        form,
        faults: new Map([['name', 'This is not its name: type it as it stands here.']]),
        objections: [],
        status: 400,
      });
    await ask(deleteMonitor, { monitor_id: monitor.id });
    return seeOther('/', { said: `${monitor.name} is deleted, with its history.` });
  },
};

export const monitorActs: readonly Page[] = [
  ...switching('pause'),
  ...switching('resume'),
  deletePage,
  deletePosted,
];
