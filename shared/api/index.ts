import {
  createChannel,
  deleteChannel,
  getChannel,
  listChannels,
  updateChannel,
} from './channels.ts';
import { createEvent, listEvents } from './events.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups.ts';
import {
  acknowledgeIncident,
  assignIncident,
  getIncident,
  getIncidentEvidence,
  listIncidents,
  unacknowledgeIncident,
} from './incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from './maintenance.ts';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  getMonitorLedger,
  getMonitorStatus,
  listMonitors,
  updateMonitor,
} from './monitors.ts';
import type { RestOperation } from './operation.ts';
import { whoami } from './organisations.ts';
import { endProbe, inviteProbe, listProbeInvitations, revokeProbeInvitation } from './probes.ts';
import { getMonitorResults } from './results.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  checkStatusPageDomain,
  createStatusPage,
  createStatusPagePost,
  deleteStatusPage,
  deleteStatusPagePost,
  getStatusPage,
  getStatusPageSubscribers,
  listStatusPagePosts,
  listStatusPages,
  orderStatusPage,
  removeStatusPageGroup,
  removeStatusPageMonitor,
  renewStatusPageLink,
  updateStatusPage,
  updateStatusPageGroup,
  updateStatusPageMonitor,
} from './status-pages.ts';

/** The whole REST API, version 1: every operation by its id, in the order of the document. */
export const operations = {
  whoami,
  listMonitors,
  createMonitor,
  batchMonitors,
  getMonitor,
  updateMonitor,
  deleteMonitor,
  getMonitorStatus,
  getMonitorResults,
  getMonitorLedger,
  listIncidents,
  getIncident,
  getIncidentEvidence,
  listEvents,
  createEvent,
  listMaintenanceWindows,
  createMaintenanceWindow,
  getMaintenanceWindow,
  updateMaintenanceWindow,
  deleteMaintenanceWindow,
  previewMaintenanceWindow,
  listGroups,
  createGroup,
  getGroup,
  updateGroup,
  deleteGroup,
  listStatusPages,
  getStatusPage,
  createStatusPage,
  updateStatusPage,
  deleteStatusPage,
  orderStatusPage,
  addStatusPageMonitor,
  removeStatusPageMonitor,
  addStatusPageGroup,
  removeStatusPageGroup,
  updateStatusPageMonitor,
  updateStatusPageGroup,
  listStatusPagePosts,
  createStatusPagePost,
  deleteStatusPagePost,
  getStatusPageSubscribers,
  checkStatusPageDomain,
  renewStatusPageLink,
  acknowledgeIncident,
  unacknowledgeIncident,
  assignIncident,
  listChannels,
  createChannel,
  getChannel,
  updateChannel,
  deleteChannel,
  listProbeInvitations,
  inviteProbe,
  revokeProbeInvitation,
  endProbe,
} as const;

export type OperationId = keyof typeof operations;

export const restOperations: readonly RestOperation[] = Object.values(operations);
