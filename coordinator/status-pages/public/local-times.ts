import { createHash } from 'node:crypto';
import { type Html, html, safeUrl } from '../../web/html.ts';
import { type Body, bodyOf } from './sending.ts';

/**
 * The one script of a public page: it shows the times of the page in the zone of the reader, and
 * names that zone. Without it they are in the zone of the page. Its formats are those of
 * `formats.ts`.
 */
const script = `{
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const { zone } = document.currentScript.dataset;
if (own && own !== zone) {
  const { lang } = document.documentElement;
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' };
  const formatted = (more) => new Intl.DateTimeFormat(lang === 'en' ? 'en-GB' : lang, { ...more, ...clock });
  const today = new Date().toDateString();
  for (const time of document.querySelectorAll('time')) {
    const [from, to] = [time.dateTime, time.dataset.to ?? time.dateTime].map((at) => new Date(at));
    const isToday = [from, to].every((at) => at.toDateString() === today);
    const day = { day: 'numeric', month: 'short' };
    const format = formatted('whole' in time.dataset ? { day: 'numeric', month: 'long', year: 'numeric' } : isToday ? {} : day);
    time.textContent = time.dataset.to ? format.formatRange(from, to) : format.format(from);
  }
  for (const name of document.querySelectorAll('[data-zone-name]')) name.textContent = name.textContent.replace(zone, own);
}
}`;

/** The name contains a digest of the content, so the file can be cached for ever. */
export const scriptName = `times-${createHash('sha256').update(script).digest('base64url').slice(0, 10)}.js`;

let made: Body | undefined;

export function scriptBody(): Body {
  made ??= bodyOf(script);
  return made;
}

/** `zone`: that the times of the document are written in. */
export function localTimes(root: string, zone: string): Html {
  return html`<script src="${safeUrl(`${root}/${scriptName}`)}" data-zone="${zone}" defer></script>`;
}

/** A sentence with a time in it, which stays an element. */
export function around(time: Html, sentence: (at: string) => string): Html {
  const [before, after = ''] = sentence(mark).split(mark);
  return html`${before}${time}${after}`;
}

/** A character that no sentence has. */
const mark = '\uE000';
