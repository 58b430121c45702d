import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { rootCertificates } from 'node:tls';
import { z } from 'zod';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { cores, find, start, stop } from '../processes.ts';
import type { Order } from './check-alone.ts';

/**
 * The target and the check alone, each in a process of its own. The subject has a core to itself;
 * targets, load and the bus share the other.
 */
export type Alone = {
  readonly authority: string;
  readonly ports: z.infer<typeof portsOf>;
  readonly order: (what: Omit<Order, 'once'> & { readonly once?: true }) => Promise<unknown>;
  /** In milliseconds. */
  readonly cpuPerCheck: (what: Omit<Order, 'once'>) => Promise<number>;
  readonly close: () => Promise<void>;
};

const portsOf = z.object({ ecdsa: z.int(), rsa: z.int(), hang: z.int(), greeting: z.int() });
const checked = z.object({ checks: z.number(), failed: z.number(), cpu_ms: z.number() });

export const startAlone = async (folder: string): Promise<Alone> => {
  const root = mintAuthority('Bench Root');
  for (const key of ['ecdsa', 'rsa'] as const) {
    const leaf = mint({
      names: ['localhost', '127.0.0.1'],
      issuer: root,
      key: key === 'rsa' ? 'rsa' : 'ec',
    });
    await writeFile(join(folder, `${key}.pem`), leaf.chain);
    await writeFile(join(folder, `${key}.key`), leaf.key);
  }
  const authority = join(folder, 'ca.pem');
  await writeFile(authority, root.certificate);
  await writeFile(join(folder, 'bundle.pem'), [...rootCertificates, root.certificate].join('\n'));

  const subject = [process.execPath, join(import.meta.dirname, 'check-alone.ts'), authority];
  // With its modules compiled once and kept, which saves the bare check the compiler's memory. It
  // ends at once, because nobody orders any check.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  await once(start(cores.load, subject, { stdio: 'ignore' }), 'exit');

  // What loads and answers keeps off the core of the subject; this process does both.
  const taskset = find('taskset');
  if (taskset) execFileSync(taskset, ['-pc', String(cores.load), String(process.pid)]);

  const target = start(
    cores.load,
    [process.execPath, join(import.meta.dirname, 'target.ts'), folder],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [node = '', ...rest] = subject;
  const bare = start(cores.subject, [node, '--expose-gc', ...rest], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const close = async (): Promise<void> => {
    await stop(bare);
    await stop(target);
  };
  if (!target.stdout || !bare.stdout || !bare.stdin) {
    await close();
    throw new Error('a part of the bench did not start');
  }
  const [line] = await once(createInterface({ input: target.stdout }), 'line');
  const answers = createInterface({ input: bare.stdout });
  const order: Alone['order'] = async (what) => {
    const answer = once(answers, 'line');
    bare.stdin?.write(`${JSON.stringify({ once: false, ...what })}\n`);
    return JSON.parse(String((await answer)[0]));
  };
  return {
    authority,
    ports: portsOf.parse(JSON.parse(String(line))),
    order,
    cpuPerCheck: async (what) => {
      const { checks, failed, cpu_ms } = checked.parse(await order(what));
      if (failed > checks / 100) throw new Error(`${failed} of ${checks} checks failed`);
      return cpu_ms / checks;
    },
    close,
  };
};
