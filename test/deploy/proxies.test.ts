import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** A coordinator speaks no TLS: in every delivered form a proxy stands before it, whose word must count, or all callers are one address. */

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8');

test.each([
  ['systemd/antipode-coordinator.service', /^Environment=TRUSTED_PROXIES=(.+)$/m, 'loopback'],
  // The network's own address on the host, which docker chooses.
  ['compose/compose.yaml', /^ {6}TRUSTED_PROXIES: (.+)$/m, `\${TRUSTED_PROXIES:-uniquelocal}`],
])('%s trusts the proxy that stands there', (file, line, value) => {
  expect(line.exec(read(file))?.[1]).toBe(value);
});

test('the proxy that the guide shows says who asks, added to what came, and hands the host on', () => {
  const [, nginx = ''] = /```nginx\n([^`]+)```/.exec(read('GUIDE.md')) ?? [];
  expect(nginx).toContain('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;');
  expect(nginx).toContain('proxy_set_header Host $host;');
});
