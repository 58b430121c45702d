import { type Block, type Inline, plainOf, readMarkdown } from './markdown.ts';

/** What the index lists: the pages of a chapter, in order. */
type Chapter = { readonly title: string; readonly pages: readonly Listed[] };
type Listed = { readonly name: string; readonly title: string; readonly about: string };

/** The index itself, by the name of its file. */
export const indexName = 'README';

/** Reads the index: a heading for each chapter, and below it a list of links with a line each. */
export function readContents(text: string): readonly Chapter[] {
  const chapters: { title: string; pages: readonly Listed[] }[] = [];
  for (const block of readMarkdown(text)) {
    if (block.is === 'heading' && block.level === 2)
      chapters.push({ title: plainOf(block.words), pages: [] });
    const last = chapters.at(-1);
    if (block.is === 'list' && last) last.pages = block.items.map(listedOf);
  }
  return chapters;
}

function listedOf(item: readonly Block[]): Listed {
  const [first] = item;
  const [link, ...about] = first?.is === 'paragraph' ? first.words : ([] as readonly Inline[]);
  const [, name] = link?.is === 'link' ? (/^([\w-]+)\.md$/.exec(link.to) ?? []) : [];
  if (link?.is !== 'link' || name === undefined)
    throw new Error('an item of the index begins with a link to a page');
  return { name, title: plainOf(link.inside), about: plainOf(about).replace(/^: /, '') };
}
