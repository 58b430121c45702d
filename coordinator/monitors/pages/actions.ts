import {
  deleteMonitor,
  getMonitor,
  muteMonitor,
  unmuteMonitor,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { confirm } from '../../web/confirm.ts';
import type { Form } from '../../web/form-data.ts';
import { refuseUnlessMay } from '../../web/forms.ts';
import { html, icon } from '../../web/html.ts';
import { forMembers, type MembersRequest, type Page, seeOther } from '../../web/page.ts';
import type { Monitor } from './detail.ts';
import { muteInputOf } from './monitor-table.ts';
import { checkedFrom } from './settings.ts';

const pauseWords = 'Stops checks and alerts. Not counted in uptime. Closes the open incident.';
export const trashWords =
  'Checks and alerts stop at once. It stays in the trash for 7 days, from where it can be restored with its history.';
const resumeWords = 'Checks start again at once, and you are alerted when it fails.';

const deletePages = forMembers.form('/monitors/:monitor_id/delete', async (request) => {
  const monitor = await monitorOf(request, deleteMonitor);
  const { id, name } = monitor;
  return {
    shown: (state) =>
      confirm({
        state,
        title: `Delete ${name}`,
        place: 'monitors',
        below: trashWords,
        trail: trailTo(monitor),
        act: 'Delete monitor',
      }),
    act: async () => {
      await request.ask(deleteMonitor, { monitor_id: id });
      return seeOther('/', {
        said: `${name} deleted. It is in the trash for 7 days.`,
        mayUndo: true,
      });
    },
  };
});

async function monitorOf(
  request: MembersRequest,
  operation: Parameters<typeof refuseUnlessMay>[1],
): Promise<Monitor> {
  const monitor = await request.ask(getMonitor, { monitor_id: request.path.monitor_id });
  refuseUnlessMay(request, operation);
  return monitor;
}

function trailTo({ id, name }: Monitor) {
  return [
    { href: '/', name: 'Monitors' },
    { href: `/monitors/${id}`, name },
  ];
}

const muting: readonly Page[] = [
  forMembers.post('/monitors/:monitor_id/mute', async ({ ask, path, form }) => {
    await ask(muteMonitor, { ...path, ...muteInputOf(form.value('for')) });
    return seeOther(backFrom(form, path.monitor_id), { said: 'Alerts muted.' });
  }),
  forMembers.post('/monitors/:monitor_id/unmute', async ({ ask, path, form }) => {
    await ask(unmuteMonitor, path);
    return seeOther(backFrom(form, path.monitor_id), {
      said: 'Alerts unmuted. Held alerts are sent if it is still down.',
    });
  }),
];

/** To the incident on whose page it was pressed, else to the monitor. */
function backFrom(form: Form, monitor: string | undefined): string {
  const back = form.value('back') ?? '';
  return /^\/incidents\/[\w-]+$/.test(back) ? back : `/monitors/${monitor}`;
}

/** Checks go on from everywhere but this continent, where it fails alone (rule 44.8). */
const leaveOut = forMembers.post('/monitors/:monitor_id/leave-out', async (request) => {
  const { id, config } = await monitorOf(request, updateMonitor);
  const left = request.form.value('continent');
  const before = checkedFrom(config);
  const checked = before.filter((continent) => continent !== left);
  // Somebody else was faster, or it is none of its continents.
  if (checked.length === before.length) return seeOther(`/monitors/${id}`);
  await request.ask(updateMonitor, {
    monitor_id: id,
    config: { ...config, continents: checked },
  });
  return seeOther(`/monitors/${id}`, { said: `No longer checked from ${left}.` });
});

export const monitorActs: readonly Page[] = [
  ...muting,
  leaveOut,
  ...switching('pause'),
  ...switching('resume'),
  ...deletePages,
];

function switching(verb: 'pause' | 'resume'): readonly Page[] {
  const [Verb, done] = verb === 'pause' ? ['Pause', 'is paused.'] : ['Resume', 'is resumed.'];
  return forMembers.form(`/monitors/:monitor_id/${verb}`, (request) => ({
    shown: async (state) => {
      const monitor = await monitorOf(request, updateMonitor);
      const { id, name, enabled } = monitor;
      // Redirects also when someone else was faster.
      if (enabled !== (verb === 'pause'))
        return seeOther(`/monitors/${id}`, { said: `${name} ${done}` });
      return confirm({
        state,
        title: `${Verb} ${name}`,
        place: 'monitors',
        below: verb === 'pause' ? pauseWords : resumeWords,
        trail: trailTo(monitor),
        act: html`
            <button class="button button-main">
              ${icon(verb === 'pause' ? 'pause' : 'play')}
              ${Verb}
            </button>
          `,
      });
    },
    act: async () => {
      const { ask, path } = request;
      const { id, name } = await ask(updateMonitor, {
        monitor_id: path.monitor_id,
        enabled: verb === 'resume',
      });
      return seeOther(`/monitors/${id}`, { said: `${name} ${done}` });
    },
  }));
}
