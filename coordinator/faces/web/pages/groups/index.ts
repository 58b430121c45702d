import type { Page } from '../../page.ts';
import { groupPages } from './group.ts';
import { groupListPages } from './list.ts';

export const pagesOfGroups: readonly Page[] = [...groupListPages, ...groupPages];
