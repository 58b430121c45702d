/**
 * For test files: reads every `html` template of a source file, and says where in HTML each of its
 * holes stands.
 */

type Hole = {
  readonly line: number;
  /** The expression in it. */
  readonly code: string;
  readonly where:
    | { readonly is: 'text' }
    | { readonly is: 'between attributes' }
    /** `before`: what stands between the quote and the hole; `…` for an earlier hole. */
    | { readonly is: 'attribute'; readonly name: string; readonly before: string }
    | { readonly is: 'nowhere'; readonly why: string };
};

type Template = {
  readonly line: number /** Its text, with `…` for each hole. */;
  readonly text: string;
  readonly holes: readonly Hole[];
};

type Reading = { at: number; readonly source: string; readonly templates: Template[] };

const lineAt = (source: string, at: number): number => source.slice(0, at).split('\n').length;

/** Passes over a quoted text; `at` stands on its quote. */
const skipQuoted = (reading: Reading): void => {
  const quote = reading.source[reading.at];
  reading.at += 1;
  while (reading.at < reading.source.length && reading.source[reading.at] !== quote)
    reading.at += reading.source[reading.at] === '\\' ? 2 : 1;
  reading.at += 1;
};

/** Passes over code until the brace that closes it, or the end; templates within are read. */
const readCode = (reading: Reading): void => {
  const { source } = reading;
  let depth = 0;
  while (reading.at < source.length) {
    const mark = source[reading.at];
    if (source.startsWith('//', reading.at)) {
      const end = source.indexOf('\n', reading.at);
      reading.at = end === -1 ? source.length : end;
    } else if (source.startsWith('/*', reading.at))
      reading.at = source.indexOf('*/', reading.at) + 2;
    // A regular expression stands where a value may begin.
    else if (
      mark === '/' &&
      /[(,=:[!&|?{};\n]\s*$/.test(source.slice(Math.max(0, reading.at - 20), reading.at))
    )
      skipExpression(reading);
    else if (mark === "'" || mark === '"') skipQuoted(reading);
    else if (mark === '`')
      readTemplate(reading, /\bhtml$/.test(source.slice(Math.max(0, reading.at - 5), reading.at)));
    else if (mark === '}' && depth === 0) return;
    else {
      if (mark === '{') depth += 1;
      if (mark === '}') depth -= 1;
      reading.at += 1;
    }
  }
};

const skipExpression = (reading: Reading): void => {
  let inClass = false;
  reading.at += 1;
  while (reading.at < reading.source.length) {
    const mark = reading.source[reading.at];
    if (mark === '\\') reading.at += 1;
    else if (mark === '[') inClass = true;
    else if (mark === ']') inClass = false;
    else if (mark === '/' && !inClass) break;
    reading.at += 1;
  }
  reading.at += 1;
};

/** Where the end of this piece of HTML is, as the tokenizer of the standard would have it. */
const placeAfter = (text: string): Hole['where'] => {
  let rest = text;
  for (;;) {
    const open = rest.search(/<(?:!--|\/?[a-zA-Z…])/);
    if (open === -1)
      return /<\/?$/.test(rest) ? { is: 'nowhere', why: 'in the name of a tag' } : { is: 'text' };
    rest = rest.slice(open);
    if (rest.startsWith('<!--')) {
      const end = rest.indexOf('-->');
      if (end === -1) return { is: 'nowhere', why: 'in a comment' };
      rest = rest.slice(end + 3);
      continue;
    }
    const tag = /^<\/?([a-zA-Z…][^\s/>]*)/.exec(rest);
    const name = tag?.[1] ?? '';
    if (name.includes('…') || tag?.[0].length === rest.length)
      return { is: 'nowhere', why: 'in the name of a tag' };
    const isEnd = rest.startsWith('</');
    rest = rest.slice(tag?.[0].length ?? 1);
    for (;;) {
      const attribute = /^[\s/]*([^\s/>=…]+)(\s*=\s*)?/.exec(rest);
      if (/^[\s/…]*$/.test(rest))
        return /[\s…]$/.test(rest) || rest === ''
          ? { is: 'between attributes' }
          : { is: 'nowhere', why: 'in a tag' };
      if (/^[\s/…]*>/.test(rest)) {
        rest = rest.slice(rest.indexOf('>') + 1);
        break;
      }
      if (!attribute) {
        rest = rest.replace(/^[\s/…]+/, '');
        continue;
      }
      const [whole, key = '', equals] = attribute;
      rest = rest.slice(whole.length);
      if (equals === undefined) {
        if (rest === '') return { is: 'between attributes' };
        continue;
      }
      if (!rest.startsWith('"')) return { is: 'nowhere', why: `in ${key}, which has no quotes` };
      const close = rest.indexOf('"', 1);
      if (close === -1) return { is: 'attribute', name: key.toLowerCase(), before: rest.slice(1) };
      rest = rest.slice(close + 1);
    }
    if (!isEnd && /^(script|style|title|textarea|noscript|iframe)$/i.test(name)) {
      const end = rest.toLowerCase().indexOf(`</${name.toLowerCase()}`);
      if (end === -1)
        return /^(title|textarea)$/i.test(name)
          ? { is: 'text' }
          : { is: 'nowhere', why: `in <${name}>` };
      rest = rest.slice(end);
    }
  }
};

const readTemplate = (reading: Reading, isHtml: boolean): void => {
  const { source } = reading;
  const line = lineAt(source, reading.at);
  const holes: Hole[] = [];
  let text = '';
  reading.at += 1;
  while (reading.at < source.length && source[reading.at] !== '`') {
    if (source[reading.at] === '\\') {
      text += source.slice(reading.at, reading.at + 2);
      reading.at += 2;
    } else if (source.startsWith('${', reading.at)) {
      reading.at += 2;
      const from = reading.at;
      readCode(reading);
      holes.push({
        line: lineAt(source, from),
        code: source.slice(from, reading.at).trim(),
        where: placeAfter(text),
      });
      text += '…';
      reading.at += 1;
    } else {
      text += source[reading.at];
      reading.at += 1;
    }
  }
  reading.at += 1;
  if (isHtml) reading.templates.push({ line, text, holes });
};

export const templatesOf = (source: string): readonly Template[] => {
  const reading: Reading = { at: 0, source, templates: [] };
  while (reading.at < source.length) {
    readCode(reading);
    reading.at += 1;
  }
  return reading.templates;
};
