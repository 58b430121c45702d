import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRequestSigning } from '../../../probe/presence/request-signing.ts';
import { isDirectoryProof } from '../../../shared/base/http-signatures.ts';
import { presenceMessage } from '../../../shared/bus/messages.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-signing-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const baseUrl = 'https://antipode.example';
const now = 1_800_000_000_000;
const hour = 3_600_000;

describe('the key that signs requests', () => {
  test("is made once, for the probe's eyes only, and no presence has its secret", async () => {
    const first = await openRequestSigning(folder);
    const path = join(folder, 'requests.key');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const again = await openRequestSigning(folder);
    const { request_key } = first.described(baseUrl, now);
    expect(again.described(baseUrl, now).request_key?.x).toBe(request_key?.x);
    const secret = (await readFile(path, 'utf8')).trim();
    expect(JSON.stringify(request_key)).not.toContain(secret);
    expect(presenceMessage.shape.request_key.parse(request_key)).toEqual(request_key);
  });

  test('signs for the origin of the coordinator, where that is https', async () => {
    const { signerFor } = await openRequestSigning(folder);
    const request = { authority: 'shop.example', method: 'GET', isSecure: true };
    expect(String(signerFor(`${baseUrl}:8443/`)?.(request, now))).toContain(
      'Signature-Agent: "https://antipode.example:8443"\r\n',
    );
    for (const other of ['http://antipode.example', '', 'antipode.example'])
      expect(signerFor(other)).toBeUndefined();
  });

  test('proves itself to the directory of that address, again each day and for each address', async () => {
    const { described } = await openRequestSigning(folder);
    const first = described(baseUrl, now).request_key;
    expect(first).toMatchObject({ authority: 'antipode.example', created: now / 1_000 });
    expect(first && isDirectoryProof(first)).toBe(true);
    expect(described(baseUrl, now + 23 * hour).request_key).toBe(first);
    expect(described(baseUrl, now + 24 * hour).request_key?.created).toBe(
      (now + 24 * hour) / 1_000,
    );
    const moved = described('https://other.example', now).request_key;
    expect(moved).toMatchObject({ authority: 'other.example', x: first?.x });
    expect(described('http://antipode.example', now)).toEqual({});
  });
});
