/**
 * The Markdown that the documentation is written in: headings, paragraphs, lists, tables, fenced
 * code and, alone in a line, pictures of the folder; in text code, strong, emphasis, links and, in a table, line breaks. Anything else is a fault
 * of the page, and is refused with its line.
 */

export type Inline =
  | { readonly is: 'text' | 'code'; readonly text: string }
  | { readonly is: 'strong' | 'emphasis'; readonly inside: readonly Inline[] }
  | { readonly is: 'link'; readonly to: string; readonly inside: readonly Inline[] }
  | { readonly is: 'break' };

export type Block =
  | {
      readonly is: 'heading';
      readonly level: 1 | 2 | 3;
      readonly anchor: string;
      readonly words: readonly Inline[];
    }
  | { readonly is: 'paragraph'; readonly words: readonly Inline[] }
  | { readonly is: 'code'; readonly language: string; readonly text: string }
  | { readonly is: 'picture'; readonly name: string; readonly says: string }
  | {
      readonly is: 'list';
      readonly ordered: boolean;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly is: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

export function readMarkdown(text: string): readonly Block[] {
  const anchors = new Set<string>();
  return blocksOf(text.replace(/\n$/, '').split('\n')).map((block) => {
    if (block.is !== 'heading') return block;
    if (anchors.has(block.anchor)) throw fault('two headings have one anchor', block.anchor);
    anchors.add(block.anchor);
    return block;
  });
}

/** What follows `#` in links to the headings of a page. */
export function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(
    readMarkdown(text).flatMap((block) => (block.is === 'heading' ? [block.anchor] : [])),
  );
}

/** The words of a text without their marks. */
export function plainOf(words: readonly Inline[]): string {
  return words
    .map((word) => {
      if (word.is === 'break') return ' ';
      return 'inside' in word ? plainOf(word.inside) : word.text;
    })
    .join('');
}

function fault(what: string, line: string): Error {
  return new Error(`the documentation cannot be read: ${what}: ${line}`);
}

const fence = /^```(\w*)$/;
const heading = /^(#{1,3}) (.+)$/;
const picture = /^!\[([^\]]+)\]\(([\w-]+)\.svg\)$/;
const item = /^(- |\d+\. )(?=\S)/;
/** Marks of Markdown that no page uses. */
const unknown = /^(?:>|[*+] |={2,}|~{3,}|#{4,}|-{2,}|!\[|<| |\t|\[[^\]]*\]:)/;

type Taken = { readonly block: Block; readonly next: number };

function blocksOf(lines: readonly string[]): readonly Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at] === '') {
      at += 1;
      continue;
    }
    const taken = blockAt(lines, at);
    blocks.push(taken.block);
    at = taken.next;
  }
  return blocks;
}

function blockAt(lines: readonly string[], at: number): Taken {
  const line = lines[at] ?? '';
  if (fence.test(line)) return codeAt(lines, at);
  if (item.test(line)) return listAt(lines, at);
  if (line.startsWith('|')) return tableAt(lines, at);
  const [, says, name] = picture.exec(line) ?? [];
  if (says !== undefined && name !== undefined)
    return { block: { is: 'picture', name, says }, next: at + 1 };
  const [, marks, title] = heading.exec(line) ?? [];
  if (marks !== undefined && title !== undefined) {
    const words = inlineOf(title);
    const level = marks.length === 1 ? 1 : marks.length === 2 ? 2 : 3;
    return {
      block: { is: 'heading', level, anchor: anchorOf(plainOf(words)), words },
      next: at + 1,
    };
  }
  if (unknown.test(line)) throw fault('no page uses this mark', line);
  const next = endOf(lines, at + 1, (each) => each === '' || beginsBlock(each));
  return {
    block: { is: 'paragraph', words: inlineOf(lines.slice(at, next).join(' ')) },
    next,
  };
}

function beginsBlock(line: string): boolean {
  return fence.test(line) || item.test(line) || heading.test(line) || line.startsWith('|');
}

function endOf(
  lines: readonly string[],
  from: number,
  ends: (line: string, at: number) => boolean,
): number {
  let at = from;
  while (at < lines.length && !ends(lines[at] ?? '', at)) at += 1;
  return at;
}

function codeAt(lines: readonly string[], at: number): Taken {
  const [, language = ''] = fence.exec(lines[at] ?? '') ?? [];
  const end = endOf(lines, at + 1, (line) => line === '```');
  if (end === lines.length) throw fault('code without an end', lines[at + 1] ?? '');
  return {
    block: { is: 'code', language, text: lines.slice(at + 1, end).join('\n') },
    next: end + 1,
  };
}

/** What is indented below an item belongs to it, also after empty lines. */
function listAt(lines: readonly string[], at: number): Taken {
  const isOrdered = /^\d/.test(lines[at] ?? '');
  const items: (readonly Block[])[] = [];
  let next = at;
  while (next < lines.length) {
    const [mark = ''] = item.exec(lines[next] ?? '') ?? [];
    if (mark === '' || /^\d/.test(mark) !== isOrdered) break;
    const indent = isOrdered ? '   ' : '  ';
    const isInside = (line: string): boolean => line.startsWith(indent);
    const begin = next;
    next = endOf(lines, begin + 1, (line, index) => {
      const after = lines.slice(index).find((each) => each !== '') ?? '';
      return line === '' ? !isInside(after) : !isInside(line);
    });
    const inside = lines
      .slice(begin + 1, next)
      .map((line) => (line === '' ? '' : line.slice(indent.length)));
    items.push(blocksOf([(lines[begin] ?? '').slice(mark.length), ...inside]));
    // An item may stand apart from the one before it.
    const following = endOf(lines, next, (line) => line !== '');
    if (item.test(lines[following] ?? '') && following > next) next = following;
  }
  return { block: { is: 'list', ordered: isOrdered, items }, next };
}

function tableAt(lines: readonly string[], at: number): Taken {
  const next = endOf(lines, at, (line) => !line.startsWith('|'));
  const [head = [], between = [], ...rows] = lines.slice(at, next).map(cellsOf);
  if (between.length !== head.length || !between.every((cell) => /^-{3,}$/.test(cell)))
    throw fault('a table has a line of dashes below its head', lines[at] ?? '');
  for (const row of rows)
    if (row.length !== head.length) throw fault('a row has cells of its own', row.join(' | '));
  return {
    block: {
      is: 'table',
      head: head.map(inlineOf),
      rows: rows.map((row) => row.map(inlineOf)),
    },
    next,
  };
}

function cellsOf(line: string): readonly string[] {
  if (!/^\|.*\|$/.test(line)) throw fault('a row of a table ends with |', line);
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const marks =
  /`([^`]+)`|\*\*((?:[^*]|\*(?!\*))+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|<br>/;

function inlineOf(text: string): readonly Inline[] {
  const found = marks.exec(text);
  if (found === null) return plain(text);
  const [whole, code, strong, emphasis, words, to] = found;
  return [
    ...plain(text.slice(0, found.index)),
    inlineMark({ code, strong, emphasis, words, to }),
    ...inlineOf(text.slice(found.index + whole.length)),
  ];
}

type Found = Readonly<Record<'code' | 'strong' | 'emphasis' | 'words' | 'to', string | undefined>>;

function inlineMark({ code, strong, emphasis, words, to }: Found): Inline {
  if (code !== undefined) return { is: 'code', text: code };
  if (strong !== undefined) return { is: 'strong', inside: inlineOf(strong) };
  if (emphasis !== undefined) return { is: 'emphasis', inside: inlineOf(emphasis) };
  if (words === undefined || to === undefined) return { is: 'break' };
  return { is: 'link', to, inside: inlineOf(words) };
}

function plain(text: string): readonly Inline[] {
  if (/[`*[\]\\]|<\w|&\w+;/.test(text)) throw fault('a mark without its partner', text);
  return text === '' ? [] : [{ is: 'text', text }];
}

/** As code hosts make it of the words of a heading. */
function anchorOf(words: string): string {
  return words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
