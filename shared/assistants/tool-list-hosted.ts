import { configKeys, kinds } from '../api/api-config-keys.ts';
import { maybe, string } from '../api/api-fields.ts';
import { operations } from '../api/api-index.ts';
import { tryMonitor } from '../api/inner/inner-trials.ts';
import { type Tool, toolOf } from './tool.ts';
import { channel, evidenceOf, ledger, toldAsJson, whole, withLength } from './tool-answers.ts';
import { done, withFixed } from './tool-changing.ts';
import { deletedMonitor } from './tool-deleting-monitors.ts';
import { endOfLists, listed } from './tool-lines.ts';
import { responseTimes } from './tool-response-times.ts';
import { tried } from './tool-trying.ts';

/** What the hosted connector offers beside the tools of both forms. A row makes an operation a tool. */

/** The keys of a config, each with an example: what an assistant has to know before it can propose one. */
const keys = kinds
  .map(
    (kind) => `${kind} ${JSON.stringify(Object.fromEntries(Object.entries(configKeys[kind]).map(([key, { example }]) => [key, example])))}`,
  )
  .join('; ');

/** As much as the whole of an incident may hold. */
const wholeEvidence = { textBytes: 2_000, items: 40 };

const rows = {
  incident_evidence: {
    operation: operations.getIncidentEvidence,
    title: 'Evidence of an incident',
    about:
      'Use it when get_incident does not say enough: what each failing check saw (answer, certificate, addresses), what all continents saw meanwhile, who was told, and notes of the team.',
    run: async ({ ask, now }, given, { operation }) => {
      const body = await ask(operation, given);
      const { id, monitor, monitor_name, cause, started_at, confirmed_at, resolved_at, open } = body;
      const incident = { id, monitor, monitor_name, cause, started_at, confirmed_at, resolved_at, open };
      const { texts } = toldAsJson({ ...withLength(incident, now), evidence: evidenceOf(body, wholeEvidence) });
      return { texts };
    },
  },
  explain_uptime: {
    operation: operations.getMonitorLedger,
    title: 'Explain the uptime of a monitor',
    about:
      'Use it to say where an uptime percentage comes from: the seconds up, down, in maintenance, unknown and paused, and every stretch that was not up with the incident or window behind it.',
    run: async (around, given, tool) => {
      const { texts } = await ledger(around, given, tool);
      return { texts };
    },
  },
  response_times: {
    operation: operations.getMonitorResults,
    title: 'Response times of a monitor',
    about:
      'Use it to say whether a monitor is slow, since when, and from where: checks, mean, least and most for each continent, and how the mean went. Choose the window: 24h, 7d, 30d or 1y.',
    run: responseTimes,
  },
  list_channels: {
    operation: operations.listChannels,
    title: 'List alert channels',
    about: `Use it to see who is told of outages, and whether that works. One line for each.${endOfLists}`,
    run: listed('channels'),
  },
  get_channel: {
    operation: operations.getChannel,
    title: 'Get an alert channel',
    about: 'Use it to see how one channel is set up and when it is told. Secrets, and of an address all but its host, are shown as ***.',
    run: channel,
  },
  preview_maintenance_window: {
    operation: operations.previewMaintenanceWindow,
    title: 'Preview a maintenance window',
    about: 'Use it before create_maintenance_window to see when a window would occur. Nothing is stored.',
    run: whole,
  },
  test_config: {
    operation: tryMonitor,
    title: 'Try a check once, from every continent',
    about:
      'Use it before create_monitor or update_monitor to see whether a config works: probes on every continent look once, now. Nothing is stored, nobody is alerted. It takes up to half a minute; ten a minute are allowed. The keys of config stand in create_monitor.',
    effect: 'changes',
    idempotent: true,
    open: true,
    run: tried,
  },
  create_monitor: {
    operation: operations.createMonitor,
    title: 'Create a monitor',
    about: `Starts watching something. Try the config with test_config first where you can. The address that a heartbeat waits for is shown in the web interface alone. Every key of config may be left out; here each has an example: ${keys}.`,
    effect: 'changes',
    run: whole,
  },
  update_monitor: {
    operation: operations.updateMonitor,
    title: 'Change a monitor',
    about:
      'Only what is given changes. A config replaces the whole config: send what get_monitor told with your change in it; *** keeps a secret.',
    effect: 'changes',
    idempotent: true,
    without: ['enabled'],
    run: whole,
  },
  pause_monitor: {
    operation: operations.updateMonitor,
    title: 'Pause a monitor',
    about: 'Ends its checks and alerts until it is resumed. For planned work use create_maintenance_window, which goes on checking.',
    ...withFixed({ enabled: false }),
  },
  resume_monitor: {
    operation: operations.updateMonitor,
    title: 'Resume a monitor',
    about: 'Begins the checks of a paused monitor again.',
    ...withFixed({ enabled: true }),
  },
  delete_monitor: {
    operation: operations.deleteMonitor,
    title: 'Delete a monitor with its history',
    about:
      'Cannot be undone: its incidents, results and uptime go too. To only stop the checks use pause_monitor. Ask the person before; then give the name of the monitor exactly as it stands in get_monitor.',
    effect: 'deletes',
    own: {
      confirm_name: maybe(
        string({ description: 'The name of the monitor, letter for letter. Left out only where your client can ask the person itself.' }),
      ),
    },
    run: deletedMonitor,
  },
  create_group: {
    operation: operations.createGroup,
    title: 'Create a group',
    about: 'Makes a group of that name, or answers the one that there is.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
  update_group: {
    operation: operations.updateGroup,
    title: 'Change a group',
    about: 'Changes the name or the description of a group. To put a monitor into it use update_monitor.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
  delete_group: {
    operation: operations.deleteGroup,
    title: 'Delete a group',
    about: 'Its monitors stay, without a group.',
    effect: 'deletes',
    run: done('The group is deleted; its monitors are there still.'),
  },
  create_maintenance_window: {
    operation: operations.createMaintenanceWindow,
    title: 'Schedule a maintenance window',
    about:
      'Holds the alerts of monitors or groups for some time, once or again and again; they are still checked. Call whoami first for the present time.',
    effect: 'changes',
    run: whole,
  },
  update_maintenance_window: {
    operation: operations.updateMaintenanceWindow,
    title: 'Change a maintenance window',
    about: 'Only what is given changes, from now on. Lists replace the whole list.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
  delete_maintenance_window: {
    operation: operations.deleteMaintenanceWindow,
    title: 'Delete a maintenance window',
    about: 'What it covered until now stays covered; what was to come alerts again.',
    effect: 'deletes',
    run: done('The maintenance window is deleted. What it covered until now stays covered.'),
  },
  acknowledge_incident: {
    operation: operations.acknowledgeIncident,
    title: 'Acknowledge an incident',
    about: 'Says that somebody looks after it: ends reminders and later channels, and is told to whoever was told of the outage.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
} as const satisfies Record<string, Parameters<typeof toolOf>[1]>;

export const hostedTools: readonly Tool[] = Object.entries(rows).map(([name, row]) => toolOf(name, row));
