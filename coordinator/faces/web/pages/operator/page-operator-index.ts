import type { Page } from '../../web-page.ts';
import { operatorPage } from './page-operator.ts';
import { dropSetAsidePage, retrySetAsidePage, setAsidePage } from './page-operator-set-aside.ts';

export const operatorPages: readonly Page[] = [operatorPage, setAsidePage, dropSetAsidePage, retrySetAsidePage];
