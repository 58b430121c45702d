import type { Page } from '../../page.ts';
import { editorActs } from './acts.ts';
import { deletePages } from './delete.ts';
import { statusPageEditor } from './editor.ts';
import { statusPageList } from './list.ts';
import { postPages } from './posts.ts';

export const statusPages: readonly Page[] = [...statusPageList, statusPageEditor, ...editorActs, ...postPages, ...deletePages];
