import type { Page } from '../../web-page.ts';
import { edit, editPage, exportFile, exportPage, organisationPage } from './page-organisation.ts';
import { auditFile, auditPage } from './page-organisation-audit.ts';
import { deleteIt, deletePage, keepIt } from './page-organisation-delete.ts';

export const organisationPages: readonly Page[] = [
  ...[organisationPage, editPage, edit, exportPage, exportFile, auditPage, auditFile, deletePage, deleteIt, keepIt],
];
