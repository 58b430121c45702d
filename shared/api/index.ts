import { createChannel, deleteChannel, getChannel, listChannels, updateChannel } from './channels.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups.ts';
import { acknowledgeIncident, getIncident, listIncidents } from './incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from './maintenance.ts';
import { createMonitor, deleteMonitor, getMonitor, getMonitorStatus, listMonitors, updateMonitor } from './monitors.ts';
import type { RestOperation } from './operation.ts';
import { whoami } from './organisation.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  getStatusPage,
  listStatusPages,
  removeStatusPageGroup,
  removeStatusPageMonitor,
} from './status-pages.ts';

/** The REST API, version 1, whole: every operation by its id, in the order in which the document lists them. */
export const operations = {
  whoami,
  listMonitors,
  createMonitor,
  getMonitor,
  updateMonitor,
  deleteMonitor,
  getMonitorStatus,
  listIncidents,
  getIncident,
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
  addStatusPageMonitor,
  removeStatusPageMonitor,
  addStatusPageGroup,
  removeStatusPageGroup,
  acknowledgeIncident,
  listChannels,
  createChannel,
  getChannel,
  updateChannel,
  deleteChannel,
} as const;

export type OperationId = keyof typeof operations;

export const restOperations: readonly RestOperation[] = Object.values(operations);
