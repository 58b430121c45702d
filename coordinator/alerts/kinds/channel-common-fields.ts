import type { ChannelConfig, Field } from './channel-kind.ts';

/** Fields that several kinds have, and how a kind reads its values. */

/** A value that the fields demand. @throws when it is missing: a config is read by its fields before it is stored. */
export const value = (config: ChannelConfig, name: string): string => {
  const found = config[name];
  if (found === undefined) throw new Error(`the config of a channel has no ${name}`);
  return found;
};

/** An address without the slash at its end, to put a path behind. */
export const base = (url: string): string => url.replace(/\/+$/, '');

const anyUrl = /^https?:\/\/[^\s\/?#@\\]+(?:[\/?#]\S*)?$/v;

export const urlField = (label: string, hint: string): Field => ({
  label,
  hint,
  input: 'url',
  pattern: anyUrl,
  fault: 'must be an https:// or http:// address without name and password in it',
});

/** An address that is a secret in itself: who knows it can write there. */
export const secretUrlField = (label: string, hint: string, pattern: RegExp = anyUrl, fault?: string): Field => ({
  ...urlField(label, hint),
  pattern,
  ...(fault === undefined ? {} : { fault }),
  secret: true,
});

export const secretField = (label: string, hint: string, pattern: RegExp = /^[\x21-\x7e]{1,500}$/v, fault?: string): Field => ({
  label,
  hint,
  input: 'password',
  secret: true,
  pattern,
  fault: fault ?? 'must be up to 500 visible characters without blanks',
});

export const textField = (label: string, hint: string, pattern: RegExp, fault: string): Field => ({
  label,
  hint,
  input: 'text',
  pattern,
  fault,
});

export const choiceField = (label: string, hint: string, choices: readonly string[]): Field => ({
  label,
  hint,
  input: 'choice',
  choices,
  optional: true,
  pattern: new RegExp(`^(?:${choices.join('|')})$`, 'v'),
  fault: `must be one of ${choices.join(', ')}`,
});

/** A JSON request. */
export const jsonPost = (
  url: string,
  content: unknown,
  headers: { readonly [name: string]: string } = {},
): {
  readonly by: 'https';
  readonly method: 'POST';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
} => ({ by: 'https', method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(content) });

export const formPost = (
  url: string,
  content: { readonly [name: string]: string },
  headers: { readonly [name: string]: string } = {},
): ReturnType<typeof jsonPost> => ({
  by: 'https',
  method: 'POST',
  url,
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body: new URLSearchParams(content).toString(),
});

export const basic = (name: string, password: string): string => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
