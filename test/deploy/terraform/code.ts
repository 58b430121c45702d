import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { missing } from './service.ts';
import { go, provider } from './workspace.ts';

/** The Go code by itself; `go test` tries its conversions and its calls. */
describe.skipIf(missing !== undefined)('the code of the Terraform provider', () => {
  test('is formatted, and `go vet` finds nothing', () => {
    expect(execFileSync('gofmt', ['-l', provider], { encoding: 'utf8' })).toBe('');
    expect(go(provider, 'vet', './...')).toBe('');
  });

  test('names the modules that it uses, and no others', () => {
    expect(go(provider, 'mod', 'tidy', '-diff')).toBe('');
  });

  test('passes its own tests', () => {
    expect(go(provider, 'test', './...')).toMatch(/^ok\s+antipode\.example/m);
  });
});
