import { cut } from './channel-common-words.ts';

/** Escapes for the media: whatever a name says, it formats nothing, links nowhere and calls nobody. */

export const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Nobody is called by a mention with nothing visible behind its @. */
export const unmentioned = (text: string): string => text.replaceAll('@', '@\u200b');

/** Slack's three: mentions, links and dates all stand in angle brackets. */
export const slack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** What stands as it is in code: neither a mark that would end it, nor a bracket, which Mattermost reads also there. */
const address = /([a-z][a-z0-9+.-]*:\/\/[^\s`<>]+)/i;

/**
 * Markdown that knows the backslash (Discord, Mattermost, incident.io). Addresses stand in code: they are no links of their own there, and can be
 * copied as they are. No bracket is a mention.
 */
export const markdown = (text: string): string =>
  text
    .split(address)
    .map((part, index) =>
      index % 2 === 1
        ? `\`${part}\``
        : unmentioned(part)
            .replaceAll(/[\\`*_{}[\]()#+\-!|~>]/g, '\\$&')
            .replaceAll('<', '<\u200b')
            .replaceAll('://', ':\u200b//'),
    )
    .join('');

/** Zulip's markdown knows no backslash, and leaves HTML's numbers alone until it shows them. */
export const zulip = (text: string): string => text.replaceAll(/[&<>*_`~#$@[\]()\\|!]/g, (character) => `&#${character.charCodeAt(0)};`);

/** What is a link as it stands: Telegram finds no mention in it. */
const link = /(https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=[/:?#\s]|$)[^\s<>]*)/i;

/** Addresses stand as they are, so that they can be copied. */
export const telegram = (text: string): string =>
  text
    .split(link)
    .map((part, index) => html(index % 2 === 1 ? part : unmentioned(part)))
    .join('');

/** Google Chat reads mentions in text and in cards; brackets of another make stand for themselves. */
export const googlePlain = (text: string): string => text.replaceAll('<', '‹').replaceAll('>', '›');
/** Where it reads marks: addresses stand in code. */
export const googleText = (text: string): string =>
  text
    .split(address)
    .map((part, index) => (index % 2 === 1 ? `\`${part}\`` : googlePlain(part).replaceAll(/[*_~`]/g, '$&\u200b')))
    .join('');
export const googleCard = (text: string): string => html(googlePlain(text));

/** The beginning of a text, escaped: at most so many UTF-16 units with its escapes, none of which is cut. */
export const cutFor = (text: string, most: number, escaping: (text: string) => string): string => {
  // What stands together may need more than its characters do one by one.
  for (let room = most; room > 0; ) {
    const escaped = escaping(cut(text, room, (part) => escaping(part).length));
    if (escaped.length <= most) return escaped;
    room -= escaped.length - most;
  }
  return '';
};
