import { cut } from './channel-common-words.ts';

/** Escapes for the media: whatever a name says, it formats nothing, links nowhere and calls nobody. */

export const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Nobody is called by a mention with nothing visible behind its @. */
export const unmentioned = (text: string): string => text.replaceAll('@', '@\u200b');

/** Slack's three: mentions, links and dates all stand in angle brackets. */
export const slack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Markdown that knows the backslash (Discord, Mattermost, incident.io). Nor do addresses become links, or brackets mentions, of their own. */
export const markdown = (text: string): string =>
  unmentioned(text)
    .replaceAll(/[\\`*_{}[\]()#+\-!|~>]/g, '\\$&')
    .replaceAll('<', '<\u200b')
    .replaceAll('://', ':\u200b//');

/** Zulip's markdown knows no backslash, and leaves HTML's numbers alone until it shows them. */
export const zulip = (text: string): string => text.replaceAll(/[&<>*_`~#$@[\]()\\|!]/g, (character) => `&#${character.charCodeAt(0)};`);

export const telegram = (text: string): string => html(unmentioned(text));

/** Google Chat reads mentions in text and in cards; brackets of another make stand for themselves. */
export const googleText = (text: string): string =>
  text
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/[*_~`]/g, '$&\u200b');
export const googleCard = (text: string): string => html(text.replaceAll('<', '‹').replaceAll('>', '›'));

/** The beginning of a text, escaped: at most so many UTF-16 units with its escapes, none of which is cut. */
export const cutFor = (text: string, most: number, escaping: (text: string) => string): string =>
  escaping(cut(text, most, (part) => escaping(part).length));
