import type { Page } from '../../page.ts';
import { windowFormPages } from './edit.ts';
import { maintenancePage } from './list.ts';
import { windowPages } from './window.ts';

export const maintenancePages: readonly Page[] = [maintenancePage, ...windowFormPages, ...windowPages];
