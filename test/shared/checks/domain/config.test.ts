import { describe, expect, test } from 'vitest';
import { targetFault } from '../../../../shared/checks/config.ts';
import { domainOf } from '../../../../shared/checks/domain/config.ts';
import fc from '../../../support/random.ts';

describe('the target of a domain check', () => {
  test.each([
    ['Example.COM', 'example.com'],
    [' example.co.uk. ', 'example.co.uk'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    ['MÜNCHEN.de', 'xn--mnchen-3ya.de'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai'],
    ['example。com', 'example.com'],
    ['ex\u200bam\u00adple.com', 'example.com'],
    ['4u.com', '4u.com'],
  ])('%j is the domain %s', (target, domain) => {
    expect(domainOf(target)).toBe(domain);
    expect(domainOf(domain)).toBe(domain);
    expect(targetFault('domain', target)).toBeUndefined();
  });

  test.each([
    '',
    'com',
    'localhost',
    'a..com',
    '.com',
    'example.com..',
    '127.0.0.1',
    '１２７.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '::1',
    'example.com:80',
    'https://example.com',
    'user@example.com',
    'example.com/../nameserver/x.com',
    'a\\..\\..\\x.com',
    'a\\.com',
    'example.com?x=1',
    'example.com#x',
    '%65xample.com',
    'exam ple.com',
    'example.com\u0000',
    '-a.com',
    'a-.com',
    '*.com',
    '_dmarc.example.com',
    'xn--.com',
    'xn--zzzz--.com',
    '\u202emoc.elpmaxe',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(126)}com`,
  ])('%j is none, and the form says what is wanted', (target) => {
    expect(domainOf(target)).toBeUndefined();
    expect(targetFault('domain', target)).toContain('must be a registered domain');
  });

  test('is nothing but letters, digits, dots and hyphens, whatever was typed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string({ unit: 'binary' })), (text) => {
        const domain = domainOf(text);
        if (domain === undefined) return;
        expect(domain).toMatch(/^[a-z0-9.-]{3,253}$/);
        expect(URL.parse(`https://registry.example/domain/${domain}`)?.pathname).toBe(
          `/domain/${domain}`,
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
