import { operations } from '../../shared/api/index.ts';
import { innerOperations } from '../../shared/api/inner/inner-index.ts';
import { bind, bindInSteps } from './operation-bind.ts';
import { addStatusPageGroup } from './status-pages/add-status-page-group.ts';
import { addStatusPageMonitor } from './status-pages/add-status-page-monitor.ts';
import { checkStatusPageDomain, renewStatusPageLink } from './status-pages/check-status-page-domain.ts';
import { createStatusPage } from './status-pages/create-status-page.ts';
import {
  createStatusPagePost,
  deleteStatusPagePost,
  getStatusPageSubscribers,
  listStatusPagePosts,
} from './status-pages/create-status-page-post.ts';
import { deleteStatusPage } from './status-pages/delete-status-page.ts';
import { getStatusPage } from './status-pages/get-status-page.ts';
import {
  getStatusPageEditor,
  getStatusPageIncident,
  getStatusPageLogo,
  listIncidentPages,
  listStatusPageOverviews,
  removeStatusPageLogo,
  setStatusPageLogo,
} from './status-pages/get-status-page-editor.ts';
import { listStatusPages } from './status-pages/list-status-pages.ts';
import { orderStatusPage } from './status-pages/order-status-page.ts';
import { removeStatusPageGroup } from './status-pages/remove-status-page-group.ts';
import { removeStatusPageMonitor } from './status-pages/remove-status-page-monitor.ts';
import { updateStatusPage } from './status-pages/update-status-page.ts';
import { updateStatusPageGroup, updateStatusPageMonitor } from './status-pages/update-status-page-rows.ts';

/** The rows of status pages in the table of organisations. */
export const statusPageHandlers = {
  listStatusPages: bind(operations.listStatusPages, listStatusPages),
  getStatusPage: bind(operations.getStatusPage, getStatusPage),
  createStatusPage: bind(operations.createStatusPage, createStatusPage),
  updateStatusPage: bindInSteps(operations.updateStatusPage, updateStatusPage),
  deleteStatusPage: bind(operations.deleteStatusPage, deleteStatusPage),
  addStatusPageMonitor: bind(operations.addStatusPageMonitor, addStatusPageMonitor),
  updateStatusPageMonitor: bind(operations.updateStatusPageMonitor, updateStatusPageMonitor),
  removeStatusPageMonitor: bind(operations.removeStatusPageMonitor, removeStatusPageMonitor),
  addStatusPageGroup: bind(operations.addStatusPageGroup, addStatusPageGroup),
  updateStatusPageGroup: bind(operations.updateStatusPageGroup, updateStatusPageGroup),
  removeStatusPageGroup: bind(operations.removeStatusPageGroup, removeStatusPageGroup),
  orderStatusPage: bind(operations.orderStatusPage, orderStatusPage),
  listStatusPagePosts: bind(operations.listStatusPagePosts, listStatusPagePosts),
  createStatusPagePost: bind(operations.createStatusPagePost, createStatusPagePost),
  deleteStatusPagePost: bind(operations.deleteStatusPagePost, deleteStatusPagePost),
  getStatusPageSubscribers: bind(operations.getStatusPageSubscribers, getStatusPageSubscribers),
  checkStatusPageDomain: bindInSteps(operations.checkStatusPageDomain, checkStatusPageDomain),
  renewStatusPageLink: bind(operations.renewStatusPageLink, renewStatusPageLink),
  listStatusPageOverviews: bind(innerOperations.listStatusPageOverviews, listStatusPageOverviews),
  getStatusPageLogo: bind(innerOperations.getStatusPageLogo, getStatusPageLogo),
  getStatusPageEditor: bind(innerOperations.getStatusPageEditor, getStatusPageEditor),
  getStatusPageIncident: bind(innerOperations.getStatusPageIncident, getStatusPageIncident),
  setStatusPageLogo: bind(innerOperations.setStatusPageLogo, setStatusPageLogo),
  removeStatusPageLogo: bind(innerOperations.removeStatusPageLogo, removeStatusPageLogo),
  listIncidentPages: bind(innerOperations.listIncidentPages, listIncidentPages),
} as const;
