/** Where version 1 of the API is. */
export const prefix = '/api/v1';

const lenient = new TextDecoder('utf-8');

const bytesOf = (escapes: string): Uint8Array => Uint8Array.from(escapes.match(/[0-9a-f]{2}/gi) ?? [], (pair) => Number.parseInt(pair, 16));

/** Percent-decoding that never fails: a stray % stays, bytes that are no UTF-8 become U+FFFD. */
const decode = (text: string): string =>
  text.includes('%') ? text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => lenient.decode(bytesOf(run))) : text;

/** The query of a URL as form data is read: + is a space, the last of several wins, a name without = is empty. */
export const queryOf = (url: string): Readonly<Record<string, string>> => {
  const begin = url.indexOf('?');
  if (begin === -1) return {};
  const end = url.indexOf('#', begin);
  const pairs = url.slice(begin + 1, end === -1 ? undefined : end).split('&');
  return Object.fromEntries(
    pairs
      .filter((pair) => pair !== '')
      .map((pair) => {
        const at = pair.indexOf('=');
        const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
        return [decode(name.replaceAll('+', ' ')), decode(value.replaceAll('+', ' '))];
      }),
  );
};

/** A URL whose path can be decoded: the router would else refuse it before any face could answer in its own words. */
export const soundUrl = (url: string): string => {
  const begin = url.search(/[?#]/);
  const path = begin === -1 ? url : url.slice(0, begin);
  if (!path.includes('%')) return url;
  const sound = path.replace(/(?:%[0-9a-f]{2})+|%/gi, (run) => (run === '%' ? '%25' : soundRun(run)));
  return begin === -1 ? sound : sound + url.slice(begin);
};

const soundRun = (run: string): string => {
  const text = lenient.decode(bytesOf(run));
  return text.includes('\ufffd') ? encodeURIComponent(text) : run;
};
