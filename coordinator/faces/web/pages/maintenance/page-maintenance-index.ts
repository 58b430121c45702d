import type { Page } from '../../web-page.ts';
import { windowFormPages } from './page-maintenance-edit.ts';
import { maintenancePage } from './page-maintenance-list.ts';
import { windowPages } from './page-maintenance-window.ts';

export const maintenancePages: readonly Page[] = [maintenancePage, ...windowFormPages, ...windowPages];
