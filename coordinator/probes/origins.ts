import {
  type Cidr,
  inRange,
  parseAddress,
  parseCidr,
  unmapped,
} from '../../shared/base/network.ts';

/** The autonomous systems of networks, as an operator's file has them: `203.0.113.0/24 AS64500`. */
export type Origins = readonly { readonly range: Cidr; readonly number: number }[];

/** @throws the line that cannot be read. */
export function readOrigins(text: string): Origins {
  return text.split('\n').flatMap((line, nth) => {
    const plain = line.replace(/#.*/, '').trim();
    if (plain === '') return [];
    const [, network = '', number] = /^(\S+)\s+(?:AS)?(\d{1,10})(?:\s.*)?$/i.exec(plain) ?? [];
    const range = parseCidr(network);
    if (range === undefined || number === undefined)
      throw new Error(`line ${nth + 1} must be such as "203.0.113.0/24 AS64500"`);
    return [{ range, number: Number(number) }];
  });
}

/** Of the narrowest network that the address is in. */
export function originOf(origins: Origins, text: string): number | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const plain = unmapped(address);
  return origins
    .filter(({ range }) => inRange(plain, range))
    .toSorted(({ range: [, one] }, { range: [, other] }) => other - one)[0]?.number;
}
