/** A name that was read, and where what follows it begins. */
export type ReadName = { readonly name: string; readonly end: number };

const mostWireBytes = 255;
const plain = /^[a-z0-9_*/+-]+$/;

/** A label as text that cannot be mistaken for several: dots and strange bytes are escaped as zone files do. */
const labelText = (bytes: Buffer, start: number, end: number): string => {
  const text = bytes.toString('latin1', start, end).toLowerCase();
  if (plain.test(text)) return text;
  return [...bytes.subarray(start, end)]
    .map((byte) => {
      const character = String.fromCharCode(byte).toLowerCase();
      if (character === '.' || character === '\\') return `\\${character}`;
      return byte > 0x20 && byte < 0x7f ? character : `\\${String(byte).padStart(3, '0')}`;
    })
    .join('');
};

/**
 * Reads a name at `start`, in lower case, without the dot at its end; the root is `.`. Before any pointer it must end at or before `limit`.
 * A pointer must lead before the place where its part of the name began, so that every chain of them ends. undefined for whatever is no name.
 */
export const readName = (bytes: Buffer, start: number, limit: number): ReadName | undefined => {
  let name = '';
  let at = start;
  let end = -1;
  let floor = start;
  let wire = 1;
  for (;;) {
    const length = bytes[at];
    if (length === undefined || (end < 0 && at >= limit)) return undefined;
    if (length === 0) return { name: name === '' ? '.' : name, end: end < 0 ? at + 1 : end };
    if ((length & 0xc0) === 0xc0) {
      const low = bytes[at + 1];
      if (low === undefined || (end < 0 && at + 2 > limit)) return undefined;
      const target = ((length & 0x3f) << 8) | low;
      if (target >= floor) return undefined;
      if (end < 0) end = at + 2;
      floor = target;
      at = target;
      continue;
    }
    const next = at + 1 + length;
    wire += length + 1;
    if ((length & 0xc0) !== 0 || wire > mostWireBytes || next > (end < 0 ? limit : bytes.length)) return undefined;
    const label = labelText(bytes, at + 1, next);
    name = name === '' ? label : `${name}.${label}`;
    at = next;
  }
};
