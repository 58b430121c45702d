import type { Readable } from 'node:stream';

/**
 * A backup is one gzip file: a magic line, then records of a kind (one letter), a length (four bytes) and content.
 * `H` header (JSON) · for each table `T` (JSON: name, columns), any number of `D` (rows as COPY writes them), `E` · last `Z` (JSON: the sum).
 */
export const magic = 'antipode backup 1\n';

export type RecordKind = 'H' | 'T' | 'D' | 'E' | 'Z';
export type BackupRecord = { readonly kind: RecordKind; readonly content: Buffer };

const kinds: readonly string[] = ['H', 'T', 'D', 'E', 'Z'] satisfies RecordKind[];
const isKind = (text: string): text is RecordKind => kinds.includes(text);

const headLength = 5;
/** Longer than any chunk that is written; a damaged length must not ask for all memory. */
const longest = 64 * 1024 * 1024;

export const recordBytes = (kind: RecordKind, content: Uint8Array): Buffer => {
  const head = Buffer.alloc(headLength);
  head.write(kind, 'latin1');
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
};

const lineBreak = 10;

/** How many rows the content of a `D` holds: in COPY's text form a line break inside a value is written as \n, so lines are rows. */
export const rowsIn = (content: Uint8Array): number => {
  let rows = 0;
  for (let at = content.indexOf(lineBreak); at >= 0; at = content.indexOf(lineBreak, at + 1)) rows += 1;
  return rows;
};

export class NoBackup extends Error {
  constructor(why: string) {
    super(`the file cannot be restored: ${why}`);
    this.name = 'NoBackup';
  }
}

/** The records of an (unpacked) backup, one after the other. @throws NoBackup when it is none or ends early. */
export async function* recordsOf(stream: Readable): AsyncGenerator<BackupRecord> {
  const chunks = stream[Symbol.asyncIterator]();
  let held = Buffer.alloc(0);
  const take = async (length: number): Promise<Buffer | undefined> => {
    while (held.length < length) {
      const { done, value } = await chunks.next();
      if (done) return undefined;
      held = Buffer.concat([held, Buffer.from(value)]);
    }
    const taken = held.subarray(0, length);
    held = held.subarray(length);
    return taken;
  };
  if ((await take(magic.length))?.toString() !== magic) throw new NoBackup('it is no backup of this service');
  for (;;) {
    const head = await take(headLength);
    if (head === undefined) return;
    const kind = head.toString('latin1', 0, 1);
    const length = head.readUInt32BE(1);
    if (!isKind(kind) || length > longest) throw new NoBackup('it is damaged');
    const content = await take(length);
    if (content === undefined) throw new NoBackup('it ends early');
    yield { kind, content };
  }
}
