import { createChannel, deleteChannel, getChannel, listChannels, updateChannel } from './api-channels.ts';
import { listEvents } from './api-events.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './api-groups.ts';
import { getIncidentEvidence } from './api-incident-evidence.ts';
import { acknowledgeIncident, getIncident, listIncidents } from './api-incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from './api-maintenance.ts';
import { batchMonitors } from './api-monitor-batch.ts';
import { getMonitorLedger, getMonitorResults } from './api-monitor-history.ts';
import { createMonitor, deleteMonitor, getMonitor, getMonitorStatus, listMonitors, updateMonitor } from './api-monitors.ts';
import type { RestOperation } from './api-operation.ts';
import { whoami } from './api-organisation.ts';
import { endProbe, inviteProbe, listProbeInvitations, revokeProbeInvitation } from './api-probes.ts';
import { checkStatusPageDomain, renewStatusPageLink } from './api-status-page-access.ts';
import { createStatusPagePost, deleteStatusPagePost, getStatusPageSubscribers, listStatusPagePosts } from './api-status-page-posts.ts';
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
} from './api-status-pages.ts';

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
