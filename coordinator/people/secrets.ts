import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import pLimit from 'p-limit';

/**
 * OWASP's minimum for argon2id; each hash takes 19 MiB and about 35 ms of a core, so the number of
 * concurrent ones is limited.
 */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;

/**
 * In the usual text form, so that the cost can be raised later without asking for passwords again.
 */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash(password, nonce, cost);
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${plain(nonce)}$${plain(tag)}`;
}

type Cost = { readonly memory: number; readonly passes: number; readonly parallelism: number };

const atOnce = pLimit(2);

const derive = promisify(argon2);

const tagLength = 32;

function hash(
  password: string,
  nonce: Buffer,
  { memory, passes, parallelism }: Cost,
): Promise<Buffer> {
  return atOnce(() =>
    derive('argon2id', {
      message: password.normalize('NFKC'),
      nonce,
      memory,
      passes,
      parallelism,
      tagLength,
    }),
  );
}

function plain(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

const shape = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Pass `null` for an unknown user: it is refused as slowly as a wrong password. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', tag = ''] = shape.exec(stored ?? '') ?? [];
  if (memory === undefined) {
    await hash(password, Buffer.alloc(16), cost);
    return false;
  }
  const expected = Buffer.from(tag, 'base64');
  const made = await hash(password, Buffer.from(nonce, 'base64'), {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  });
  return expected.length === made.length && timingSafeEqual(expected, made);
}
