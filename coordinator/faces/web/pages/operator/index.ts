import type { Page } from '../../page.ts';
import { operatorPage } from './operator.ts';
import { dropSetAsidePage, retrySetAsidePage, setAsidePage } from './set-aside.ts';

export const operatorPages: readonly Page[] = [operatorPage, setAsidePage, dropSetAsidePage, retrySetAsidePage];
