import { createChannel, deleteChannel, getChannel, listChannels, updateChannel } from './channels.ts';
import { listEvents } from './events.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups.ts';
import { getIncidentEvidence } from './incident-evidence.ts';
import { acknowledgeIncident, getIncident, listIncidents } from './incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from './maintenance.ts';
import { batchMonitors } from './monitor-batch.ts';
import { getMonitorLedger, getMonitorResults } from './monitor-history.ts';
import { createMonitor, deleteMonitor, getMonitor, getMonitorStatus, listMonitors, updateMonitor } from './monitors.ts';
import type { RestOperation } from './operation.ts';
import { whoami } from './organisation.ts';
import { endProbe, inviteProbe, listProbeInvitations, revokeProbeInvitation } from './probes.ts';
import { checkStatusPageDomain, renewStatusPageLink } from './status-page-access.ts';
import { createStatusPagePost, deleteStatusPagePost, getStatusPageSubscribers, listStatusPagePosts } from './status-page-posts.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  createStatusPage,
  deleteStatusPage,
  getStatusPage,
  listStatusPages,
  orderStatusPage,
  removeStatusPageGroup,
  removeStatusPageMonitor,
  updateStatusPage,
  updateStatusPageGroup,
  updateStatusPageMonitor,
} from './status-pages.ts';

/** The REST API, version 1, whole: every operation by its id, in the order in which the document lists them. */
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
