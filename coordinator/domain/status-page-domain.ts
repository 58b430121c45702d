import { Refusal } from '../../shared/base/errors.ts';
import { dnsName } from '../../shared/checks/dns/values.ts';

/** A name has 253 characters, and the record that proves it stands one label before it. */
const longest = 240;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

const refuse = (fault: string): Refusal => new Refusal('domain_invalid', `domain: ${fault}`);

const hostOf = (baseUrl: string): string | undefined => (URL.canParse(baseUrl) ? new URL(baseUrl).hostname : undefined);

/**
 * A page's own domain, in the form that DNS and browsers write it: small letters, punycode. @throws Refusal `domain_invalid`: also for the
 * address of the installation, where people sign in.
 */
export const pageDomainFrom = (text: string, baseUrl: string): string => {
  const trimmed = text.trim();
  if (/[/:@?#]/.test(trimmed))
    throw refuse('give the name alone, without https:// and without anything behind it, such as status.example.com.');
  const name = dnsName(trimmed);
  if (name === undefined || name.length > longest || !name.includes('.') || !name.split('.').every((part) => label.test(part)))
    throw refuse('is no name of a host; give one such as status.example.com.');
  if (/\.\d+$/.test(name)) throw refuse('is an address; give a name such as status.example.com.');
  if (name === hostOf(baseUrl)) throw refuse('is where this service itself is; give another name, such as status.example.com.');
  return name;
};
