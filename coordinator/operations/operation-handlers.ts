import { operations } from '../../shared/api/index.ts';
import { innerOperations } from '../../shared/api/inner/inner-index.ts';
import { createUser } from './account/create-user.ts';
import { leaveOrganisation } from './account/leave-organisation.ts';
import { removeMember } from './account/remove-member.ts';
import { setMemberRole } from './account/set-member-role.ts';
import { whoami } from './account/whoami.ts';
import { explainAlerts } from './alerts/explain-alerts.ts';
import { listMessages } from './alerts/list-messages.ts';
import { listTold, listWouldBeTold } from './alerts/list-told.ts';
import { muteAlerts, showMute, unmuteAlerts } from './alerts/mute-alerts.ts';
import { showDelivery } from './alerts/show-delivery.ts';
import { showMessage } from './alerts/show-message.ts';
import { askMailbox } from './channels/ask-mailbox.ts';
import { createChannel } from './channels/create-channel.ts';
import { deleteChannel } from './channels/delete-channel.ts';
import { getChannel } from './channels/get-channel.ts';
import { getChannelChoices } from './channels/get-channel-choices.ts';
import { listChannelKinds } from './channels/list-channel-kinds.ts';
import { listChannels } from './channels/list-channels.ts';
import { testChannel, tryChannel } from './channels/test-channel.ts';
import { updateChannel } from './channels/update-channel.ts';
import { changeMonitors } from './dashboard/change-monitors.ts';
import { countOpenIncidents } from './dashboard/count-open-incidents.ts';
import { listDashboard } from './dashboard/list-dashboard.ts';
import { listEvents } from './events/list-events.ts';
import { createGroup } from './groups/create-group.ts';
import { deleteGroup } from './groups/delete-group.ts';
import { getGroup } from './groups/get-group.ts';
import { listGroupStandings } from './groups/list-group-standings.ts';
import { listGroups } from './groups/list-groups.ts';
import { listMonitorsOutside } from './groups/list-monitors-outside.ts';
import { showGroup } from './groups/show-group.ts';
import { updateGroup } from './groups/update-group.ts';
import { acknowledgeIncident } from './incidents/acknowledge-incident.ts';
import { addIncidentNote } from './incidents/add-incident-note.ts';
import { getIncident } from './incidents/get-incident.ts';
import { getIncidentEvidence } from './incidents/get-incident-evidence.ts';
import { listIncidents } from './incidents/list-incidents.ts';
import { shareIncident } from './incidents/share-incident.ts';
import { withdrawIncidentShare } from './incidents/withdraw-incident-share.ts';
import { createMaintenanceWindow } from './maintenance/create-maintenance-window.ts';
import { deleteMaintenanceWindow } from './maintenance/delete-maintenance-window.ts';
import { endMaintenanceNow } from './maintenance/end-maintenance-now.ts';
import { getMaintenanceWindow } from './maintenance/get-maintenance-window.ts';
import { listMaintenanceByTime } from './maintenance/list-maintenance-by-time.ts';
import { listMaintenanceWindows } from './maintenance/list-maintenance-windows.ts';
import { previewMaintenanceWindow } from './maintenance/preview-maintenance-window.ts';
import { showMaintenanceWindow } from './maintenance/show-maintenance-window.ts';
import { startMaintenanceNow } from './maintenance/start-maintenance-now.ts';
import { updateMaintenanceWindow } from './maintenance/update-maintenance-window.ts';
import { inviteMember, listInvitations, withdrawInvitation } from './members/invite-member.ts';
import { listMembers } from './members/list-members.ts';
import { batchMonitors } from './monitors/batch-monitors.ts';
import { createMonitor } from './monitors/create-monitor.ts';
import { deleteMonitor } from './monitors/delete-monitor.ts';
import { getMonitor } from './monitors/get-monitor.ts';
import { getMonitorChoices } from './monitors/get-monitor-choices.ts';
import { getMonitorLedger } from './monitors/get-monitor-ledger.ts';
import { getMonitorResults } from './monitors/get-monitor-results.ts';
import { getMonitorStatus } from './monitors/get-monitor-status.ts';
import { getBeatAddress } from './monitors/get-ping-address.ts';
import { listMonitorFigures } from './monitors/list-monitor-figures.ts';
import { listMonitors } from './monitors/list-monitors.ts';
import { listBeats } from './monitors/list-pings.ts';
import { rotateBeatAddress } from './monitors/rotate-ping-address.ts';
import { updateMonitor } from './monitors/update-monitor.ts';
import { type Bound, bind, bindInSteps } from './operation-bind.ts';
import type { Place } from './operation-context.ts';
import { statusPageHandlers } from './operation-handlers-of-status-pages.ts';
import { endOrganisation, keepOrganisation } from './organisation/end-organisation.ts';
import { beginExport, readExport } from './organisation/export-organisation.ts';
import { getAuditChoices, listAudit } from './organisation/list-audit.ts';
import { showOrganisation, updateOrganisation } from './organisation/show-organisation.ts';
import { endProbe, showOwnProbe } from './probes/end-probe.ts';
import { inviteProbe, listProbeInvitations, revokeProbeInvitation } from './probes/invite-probe.ts';
import { listCheckers } from './probes/list-checkers.ts';
import { search } from './search/search-everything.ts';
import { createToken } from './tokens/create-token.ts';
import { disconnectAssistant, getConnection, listConnections } from './tokens/list-assistant-connections.ts';
import { getToken, listTokens } from './tokens/list-tokens.ts';
import { revokeToken } from './tokens/revoke-token.ts';
import { hearTrial } from './trials/hear-trial.ts';
import { tryMonitor } from './trials/try-monitor.ts';

/** The row of every operation done in an organisation; a missing one does not compile. */
export const organisationHandlers: { readonly [Id in keyof typeof operations | keyof typeof innerOperations]: Bound<Place> } = {
  whoami: bind(operations.whoami, whoami),
  listMonitors: bind(operations.listMonitors, listMonitors),
  createMonitor: bind(operations.createMonitor, createMonitor),
  batchMonitors: bind(operations.batchMonitors, batchMonitors),
  getMonitor: bind(operations.getMonitor, getMonitor),
  updateMonitor: bind(operations.updateMonitor, updateMonitor),
  deleteMonitor: bind(operations.deleteMonitor, deleteMonitor),
  getMonitorStatus: bind(operations.getMonitorStatus, getMonitorStatus),
  getMonitorResults: bind(operations.getMonitorResults, getMonitorResults),
  getMonitorLedger: bind(operations.getMonitorLedger, getMonitorLedger),
  listIncidents: bind(operations.listIncidents, listIncidents),
  getIncident: bind(operations.getIncident, getIncident),
  getIncidentEvidence: bind(operations.getIncidentEvidence, getIncidentEvidence),
  listEvents: bind(operations.listEvents, listEvents),
  listMaintenanceWindows: bind(operations.listMaintenanceWindows, listMaintenanceWindows),
  createMaintenanceWindow: bind(operations.createMaintenanceWindow, createMaintenanceWindow),
  getMaintenanceWindow: bind(operations.getMaintenanceWindow, getMaintenanceWindow),
  updateMaintenanceWindow: bind(operations.updateMaintenanceWindow, updateMaintenanceWindow),
  previewMaintenanceWindow: bind(operations.previewMaintenanceWindow, previewMaintenanceWindow),
  deleteMaintenanceWindow: bind(operations.deleteMaintenanceWindow, deleteMaintenanceWindow),
  listGroups: bind(operations.listGroups, listGroups),
  createGroup: bind(operations.createGroup, createGroup),
  getGroup: bind(operations.getGroup, getGroup),
  updateGroup: bind(operations.updateGroup, updateGroup),
  deleteGroup: bind(operations.deleteGroup, deleteGroup),
  ...statusPageHandlers,
  createUser: bind(innerOperations.createUser, createUser),
  setMemberRole: bind(innerOperations.setMemberRole, setMemberRole),
  removeMember: bind(innerOperations.removeMember, removeMember),
  leaveOrganisation: bind(innerOperations.leaveOrganisation, leaveOrganisation),
  listCheckers: bind(innerOperations.listCheckers, listCheckers),
  showOwnProbe: bind(innerOperations.showOwnProbe, showOwnProbe),
  endProbe: bind(operations.endProbe, endProbe),
  inviteProbe: bind(operations.inviteProbe, inviteProbe),
  listProbeInvitations: bind(operations.listProbeInvitations, listProbeInvitations),
  revokeProbeInvitation: bind(operations.revokeProbeInvitation, revokeProbeInvitation),
  listGroupStandings: bind(innerOperations.listGroupStandings, listGroupStandings),
  showGroup: bind(innerOperations.showGroup, showGroup),
  listMonitorsOutside: bind(innerOperations.listMonitorsOutside, listMonitorsOutside),
  listMaintenanceByTime: bind(innerOperations.listMaintenanceByTime, listMaintenanceByTime),
  showMaintenanceWindow: bind(innerOperations.showMaintenanceWindow, showMaintenanceWindow),
  startMaintenanceNow: bind(innerOperations.startMaintenanceNow, startMaintenanceNow),
  endMaintenanceNow: bind(innerOperations.endMaintenanceNow, endMaintenanceNow),
  listMembers: bind(innerOperations.listMembers, listMembers),
  listInvitations: bind(innerOperations.listInvitations, listInvitations),
  inviteMember: bindInSteps(innerOperations.inviteMember, inviteMember),
  withdrawInvitation: bind(innerOperations.withdrawInvitation, withdrawInvitation),
  showOrganisation: bind(innerOperations.showOrganisation, showOrganisation),
  updateOrganisation: bind(innerOperations.updateOrganisation, updateOrganisation),
  endOrganisation: bind(innerOperations.endOrganisation, endOrganisation),
  keepOrganisation: bind(innerOperations.keepOrganisation, keepOrganisation),
  beginExport: bind(innerOperations.beginExport, beginExport),
  readExport: bind(innerOperations.readExport, readExport),
  listAudit: bind(innerOperations.listAudit, listAudit),
  getAuditChoices: bind(innerOperations.getAuditChoices, getAuditChoices),
  listTokens: bind(innerOperations.listTokens, listTokens),
  listConnections: bind(innerOperations.listConnections, listConnections),
  getConnection: bind(innerOperations.getConnection, getConnection),
  disconnectAssistant: bind(innerOperations.disconnectAssistant, disconnectAssistant),
  getToken: bind(innerOperations.getToken, getToken),
  createToken: bind(innerOperations.createToken, createToken),
  revokeToken: bind(innerOperations.revokeToken, revokeToken),
  getBeatAddress: bind(innerOperations.getBeatAddress, getBeatAddress),
  listMonitorFigures: bind(innerOperations.listMonitorFigures, listMonitorFigures),
  listBeats: bind(innerOperations.listBeats, listBeats),
  rotateBeatAddress: bind(innerOperations.rotateBeatAddress, rotateBeatAddress),
  addIncidentNote: bind(innerOperations.addIncidentNote, addIncidentNote),
  shareIncident: bind(innerOperations.shareIncident, shareIncident),
  withdrawIncidentShare: bind(innerOperations.withdrawIncidentShare, withdrawIncidentShare),
  getMonitorChoices: bind(innerOperations.getMonitorChoices, getMonitorChoices),
  tryMonitor: bind(innerOperations.tryMonitor, tryMonitor),
  hearTrial: bind(innerOperations.hearTrial, hearTrial),
  listDashboard: bind(innerOperations.listDashboard, listDashboard),
  countOpenIncidents: bind(innerOperations.countOpenIncidents, countOpenIncidents),
  changeMonitors: bind(innerOperations.changeMonitors, changeMonitors),
  search: bind(innerOperations.search, search),
  acknowledgeIncident: bind(operations.acknowledgeIncident, acknowledgeIncident),
  listChannels: bind(operations.listChannels, listChannels),
  createChannel: bindInSteps(operations.createChannel, createChannel),
  getChannel: bind(operations.getChannel, getChannel),
  updateChannel: bind(operations.updateChannel, updateChannel),
  deleteChannel: bind(operations.deleteChannel, deleteChannel),
  listChannelKinds: bind(innerOperations.listChannelKinds, listChannelKinds),
  getChannelChoices: bind(innerOperations.getChannelChoices, getChannelChoices),
  testChannel: bindInSteps(innerOperations.testChannel, testChannel),
  tryChannel: bindInSteps(innerOperations.tryChannel, tryChannel),
  askMailbox: bind(innerOperations.askMailbox, askMailbox),
  listMessages: bind(innerOperations.listMessages, listMessages),
  showMessage: bind(innerOperations.showMessage, showMessage),
  explainAlerts: bind(innerOperations.explainAlerts, explainAlerts),
  listTold: bind(innerOperations.listTold, listTold),
  listWouldBeTold: bind(innerOperations.listWouldBeTold, listWouldBeTold),
  muteAlerts: bind(innerOperations.muteAlerts, muteAlerts),
  unmuteAlerts: bind(innerOperations.unmuteAlerts, unmuteAlerts),
  showDelivery: bind(innerOperations.showDelivery, showDelivery),
  showMute: bind(innerOperations.showMute, showMute),
};
