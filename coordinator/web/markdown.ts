import { type Html, html, type Part, safeUrl } from './html.ts';

/**
 * Text of people as Markdown: paragraphs, lists, headings, code, bold and links. Neither HTML nor
 * images; what is none of these stays as it was written.
 */
export function markdown(text: string): Html {
  return html`<div class="prose">${blocksOf(text.replaceAll(/\r\n?/g, '\n').split('\n'))}</div>`;
}

const fence = /^\s*(`{3,}|~{3,})/;
const heading = /^#{1,6}\s+(.*?)\s*#*$/;
const bullet = /^\s*[-*+]\s+(.*)$/;
const numbered = /^\s*\d{1,4}[.)]\s+(.*)$/;

function blocksOf(lines: readonly string[]): readonly Html[] {
  const blocks: Html[] = [];
  let at = 0;
  /** Takes lines as long as `read` gives something for them. */
  const take = <T>(read: (line: string) => T | undefined): T[] => {
    const taken: T[] = [];
    for (; at < lines.length; at += 1) {
      const value = read(lines[at] ?? '');
      if (value === undefined) break;
      taken.push(value);
    }
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    if (line.trim() === '') at += 1;
    else if (fence.test(line)) {
      at += 1;
      const code = take((each) => (fence.test(each) ? undefined : each));
      at += 1;
      blocks.push(html`<pre>${code.join('\n')}</pre>`);
    } else if (heading.test(line)) {
      at += 1;
      blocks.push(html`<p><b>${inline(heading.exec(line)?.[1] ?? '')}</b></p>`);
    } else if (bullet.test(line)) blocks.push(html`<ul>${items(take(itemBy(bullet)))}</ul>`);
    else if (numbered.test(line)) blocks.push(html`<ol>${items(take(itemBy(numbered)))}</ol>`);
    else blocks.push(html`<p>${paragraph(take((each) => (isProse(each) ? each : undefined)))}</p>`);
  }
  return blocks;
}

function itemBy(form: RegExp) {
  return (line: string): string | undefined => form.exec(line)?.[1];
}

function items(texts: readonly string[]): readonly Html[] {
  return texts.map((text) => html`<li>${inline(text)}</li>`);
}

function isProse(line: string): boolean {
  return line.trim() !== '' && ![fence, heading, bullet, numbered].some((form) => form.test(line));
}

/** A line that people began is a line of its own. */
function paragraph(lines: readonly string[]): readonly Part[] {
  return lines.flatMap((line, index) =>
    index === 0 ? [inline(line)] : [html`<br>`, inline(line)],
  );
}

/** Code, a link with words, bold, or a bare address; nothing of these crosses a line. */
const marks =
  /`([^`]+)`|\[([^[\]]+)\]\(((?:https?:\/\/|mailto:)[^\s()<>]+)\)|\*\*([^*]+)\*\*|(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]*])/gi;

function inline(text: string): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(marks)) {
    const [whole, code, words, address, bold, bare] = match;
    parts.push(text.slice(from, match.index));
    from = match.index + whole.length;
    if (code !== undefined) parts.push(html`<code>${code}</code>`);
    else if (bold !== undefined) parts.push(html`<b>${inline(bold)}</b>`);
    else parts.push(link(address ?? bare ?? '', words ?? bare ?? ''));
  }
  parts.push(text.slice(from));
  return parts;
}

function link(address: string, words: string): Html {
  return html`<a href="${safeUrl(address)}" rel="noreferrer">${words}</a>`;
}
