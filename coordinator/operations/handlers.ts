import { InvalidInput } from '../../shared/api/errors.ts';
import { operations } from '../../shared/api/index.ts';
import { innerOperations, installationOperations } from '../../shared/api/inner/index.ts';
import type { Operation, RawInput } from '../../shared/api/operation.ts';
import { createOrganisation } from './account/create-organisation.ts';
import { createToken } from './account/create-token.ts';
import { createUser } from './account/create-user.ts';
import { removeMember } from './account/remove-member.ts';
import { revokeToken } from './account/revoke-token.ts';
import { setMemberRole } from './account/set-member-role.ts';
import { whoami } from './account/whoami.ts';
import { type Answer, type Context, type InOrganisation, Otherwise } from './context.ts';
import { createGroup } from './groups/create-group.ts';
import { deleteGroup } from './groups/delete-group.ts';
import { getGroup } from './groups/get-group.ts';
import { listGroups } from './groups/list-groups.ts';
import { updateGroup } from './groups/update-group.ts';
import { getIncident } from './incidents/get-incident.ts';
import { listIncidents } from './incidents/list-incidents.ts';
import { showIncident } from './incidents/show-incident.ts';
import { createMaintenanceWindow } from './maintenance/create-maintenance-window.ts';
import { deleteMaintenanceWindow } from './maintenance/delete-maintenance-window.ts';
import { getMaintenanceWindow } from './maintenance/get-maintenance-window.ts';
import { listMaintenanceWindows } from './maintenance/list-maintenance-windows.ts';
import { createMonitor } from './monitors/create-monitor.ts';
import { deleteMonitor } from './monitors/delete-monitor.ts';
import { getBeatAddress } from './monitors/get-beat-address.ts';
import { getMonitor } from './monitors/get-monitor.ts';
import { getMonitorStatus } from './monitors/get-monitor-status.ts';
import { listBeats } from './monitors/list-beats.ts';
import { listMonitors } from './monitors/list-monitors.ts';
import { rotateBeatAddress } from './monitors/rotate-beat-address.ts';
import { updateMonitor } from './monitors/update-monitor.ts';
import { createProbe } from './probes/create-probe.ts';
import { listProbes } from './probes/list-probes.ts';
import { revokeProbe } from './probes/revoke-probe.ts';
import { rotateProbe } from './probes/rotate-probe.ts';
import { addStatusPageGroup } from './status-pages/add-status-page-group.ts';
import { addStatusPageMonitor } from './status-pages/add-status-page-monitor.ts';
import { createStatusPage } from './status-pages/create-status-page.ts';
import { getStatusPage } from './status-pages/get-status-page.ts';
import { listStatusPages } from './status-pages/list-status-pages.ts';
import { removeStatusPageGroup } from './status-pages/remove-status-page-group.ts';
import { removeStatusPageMonitor } from './status-pages/remove-status-page-monitor.ts';
import { dropSetAside } from './upkeep/drop-set-aside.ts';
import { listNotices } from './upkeep/list-notices.ts';
import { listRefused } from './upkeep/list-refused.ts';
import { listSetAside } from './upkeep/list-set-aside.ts';
import { retrySetAside } from './upkeep/retry-set-aside.ts';
import { showSetAside } from './upkeep/show-set-aside.ts';

export type Answered = { readonly status?: number; readonly body?: unknown };

/** An operation with what does it: reads the input (every fault at once), and gives the work to be done in a transaction. */
export type Bound<C extends Context> = {
  readonly operation: Operation;
  readonly read: (raw: RawInput) => (context: C) => Promise<Answered>;
};

/** Here the handler's types meet the operation's: one that does not fit does not compile. */
const bind = <C extends Context, Input, Output>(
  operation: Operation<string, Input, Output>,
  handler: (context: C, input: Input) => Answer<Output>,
): Bound<C> => ({
  operation,
  read: (raw) => {
    const parsed = operation.parse(raw);
    if (!parsed.ok) throw new InvalidInput(parsed.faults);
    return async (context) => {
      const answer = await handler(context, parsed.value);
      return answer instanceof Otherwise ? { status: answer.status, body: answer.body } : { body: answer };
    };
  },
});

/** The row of every operation done in an organisation; a missing one does not compile. */
export const organisationHandlers: { readonly [Id in keyof typeof operations | keyof typeof innerOperations]: Bound<InOrganisation> } = {
  whoami: bind(operations.whoami, whoami),
  listMonitors: bind(operations.listMonitors, listMonitors),
  createMonitor: bind(operations.createMonitor, createMonitor),
  getMonitor: bind(operations.getMonitor, getMonitor),
  updateMonitor: bind(operations.updateMonitor, updateMonitor),
  deleteMonitor: bind(operations.deleteMonitor, deleteMonitor),
  getMonitorStatus: bind(operations.getMonitorStatus, getMonitorStatus),
  listIncidents: bind(operations.listIncidents, listIncidents),
  getIncident: bind(operations.getIncident, getIncident),
  listMaintenanceWindows: bind(operations.listMaintenanceWindows, listMaintenanceWindows),
  createMaintenanceWindow: bind(operations.createMaintenanceWindow, createMaintenanceWindow),
  getMaintenanceWindow: bind(operations.getMaintenanceWindow, getMaintenanceWindow),
  deleteMaintenanceWindow: bind(operations.deleteMaintenanceWindow, deleteMaintenanceWindow),
  listGroups: bind(operations.listGroups, listGroups),
  createGroup: bind(operations.createGroup, createGroup),
  getGroup: bind(operations.getGroup, getGroup),
  updateGroup: bind(operations.updateGroup, updateGroup),
  deleteGroup: bind(operations.deleteGroup, deleteGroup),
  listStatusPages: bind(operations.listStatusPages, listStatusPages),
  getStatusPage: bind(operations.getStatusPage, getStatusPage),
  addStatusPageMonitor: bind(operations.addStatusPageMonitor, addStatusPageMonitor),
  removeStatusPageMonitor: bind(operations.removeStatusPageMonitor, removeStatusPageMonitor),
  addStatusPageGroup: bind(operations.addStatusPageGroup, addStatusPageGroup),
  removeStatusPageGroup: bind(operations.removeStatusPageGroup, removeStatusPageGroup),
  createUser: bind(innerOperations.createUser, createUser),
  setMemberRole: bind(innerOperations.setMemberRole, setMemberRole),
  removeMember: bind(innerOperations.removeMember, removeMember),
  createToken: bind(innerOperations.createToken, createToken),
  revokeToken: bind(innerOperations.revokeToken, revokeToken),
  createStatusPage: bind(innerOperations.createStatusPage, createStatusPage),
  getBeatAddress: bind(innerOperations.getBeatAddress, getBeatAddress),
  listBeats: bind(innerOperations.listBeats, listBeats),
  rotateBeatAddress: bind(innerOperations.rotateBeatAddress, rotateBeatAddress),
  showIncident: bind(innerOperations.showIncident, showIncident),
};

/** What the operator does to the installation. */
export const installationHandlers: {
  readonly [Id in keyof typeof installationOperations]: Bound<Context>;
} = {
  createOrganisation: bind(installationOperations.createOrganisation, createOrganisation),
  createProbe: bind(installationOperations.createProbe, createProbe),
  rotateProbe: bind(installationOperations.rotateProbe, rotateProbe),
  revokeProbe: bind(installationOperations.revokeProbe, revokeProbe),
  listProbes: bind(installationOperations.listProbes, listProbes),
  listNotices: bind(installationOperations.listNotices, listNotices),
  listRefused: bind(installationOperations.listRefused, listRefused),
  listSetAside: bind(installationOperations.listSetAside, listSetAside),
  showSetAside: bind(installationOperations.showSetAside, showSetAside),
  retrySetAside: bind(installationOperations.retrySetAside, retrySetAside),
  dropSetAside: bind(installationOperations.dropSetAside, dropSetAside),
};
