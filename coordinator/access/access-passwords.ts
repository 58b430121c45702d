import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import pLimit from 'p-limit';

/** OWASP's least for argon2id; each costs 19 MiB and about 35 ms of a core, hence the bound on how many run at once. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const tagLength = 32;
const atOnce = pLimit(2);

const derive = promisify(argon2);

type Cost = { readonly memory: number; readonly passes: number; readonly parallelism: number };

const hash = (password: string, nonce: Buffer, { memory, passes, parallelism }: Cost): Promise<Buffer> =>
  atOnce(() => derive('argon2id', { message: password.normalize('NFKC'), nonce, memory, passes, parallelism, tagLength }));

const plain = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

/** In the usual text form, so that the cost can be raised later without asking for passwords anew. */
export const hashPassword = async (password: string): Promise<string> => {
  const nonce = randomBytes(16);
  const tag = await hash(password, nonce, cost);
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${plain(nonce)}$${plain(tag)}`;
};

const shape = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Someone unknown is refused as slowly as someone with a wrong password: give `null` for a user who is not there. */
export const verifyPassword = async (password: string, stored: string | null): Promise<boolean> => {
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
};
