import type { Page } from '../../page.ts';
import { auditFile, auditPage } from './audit.ts';
import { deleteIt, deletePage, keepIt } from './delete.ts';
import { edit, editPage, exportFile, exportPage, organisationPage } from './organisation.ts';

export const organisationPages: readonly Page[] = [
  ...[organisationPage, editPage, edit, exportPage, exportFile, auditPage, auditFile, deletePage, deleteIt, keepIt],
];
