import type { Page } from '../../web-page.ts';
import { editorActs } from './page-status-page-acts.ts';
import { deletePages } from './page-status-page-delete.ts';
import { statusPageEditor } from './page-status-page-editor.ts';
import { statusPageList } from './page-status-page-list.ts';
import { postPages } from './page-status-page-posts.ts';

export const statusPages: readonly Page[] = [...statusPageList, statusPageEditor, ...editorActs, ...postPages, ...deletePages];
