import type { Page } from '../../web-page.ts';
import { groupPages } from './page-group.ts';
import { groupListPages } from './page-group-list.ts';

export const pagesOfGroups: readonly Page[] = [...groupListPages, ...groupPages];
