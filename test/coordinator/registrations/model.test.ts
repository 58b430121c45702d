import { describe, expect, test } from 'vitest';
import {
  domainFault,
  newestRegistries,
  registrationFrom,
  registriesFrom,
  serverOf,
} from '../../../coordinator/registrations/model.ts';
import fc from '../../support/random.ts';

const shipped = newestRegistries(undefined);

describe('the list of registries', () => {
  test('that this version ships with has the server of the common endings', () => {
    expect(serverOf(shipped, 'example.com')).toBe('https://rdap.verisign.com/com/v1/');
    expect(serverOf(shipped, 'example.co.uk')).toBe('https://rdap.nominet.uk/uk/');
    expect(serverOf(shipped, 'com')).toBeUndefined();
  });

  test('gives the longest suffix, over TLS alone', () => {
    const list = registriesFrom({
      publication: '2026-01-01T00:00:00Z',
      services: [
        [['uk'], ['https://uk.example/rdap']],
        [['co.uk'], ['http://co.example/', 'https://co.example/']],
        [['kg'], ['http://kg.example/']],
      ],
    });
    expect(list && serverOf(list, 'shop.co.uk')).toBe('https://co.example/');
    expect(list && serverOf(list, 'shop.org.uk')).toBe('https://uk.example/rdap/');
    expect(list && serverOf(list, 'shop.kg')).toBeUndefined();
  });

  test('counts when it is newer than the shipped one, and when it is one', () => {
    const dated = (publication: string) =>
      registriesFrom({ publication, services: [[['test'], ['https://rdap.example/']]] });
    const newer = dated('2126-01-01T00:00:00Z');
    expect(newestRegistries(newer)).toBe(newer);
    expect(newestRegistries(dated('2006-01-01T00:00:00Z'))).toBe(shipped);
    for (const none of [null, [], {}, { services: [] }, 'list'])
      expect(registriesFrom(none)).toBeUndefined();
  });

  test.each([
    ['example.com', undefined],
    ['www.example.com', 'registries know example.com, not www.example.com; use example.com'],
    ['co.uk', 'co.uk is a public suffix, not a domain'],
    ['example.kg', '.kg domains publish no expiry date (no RDAP)'],
  ])('says whether %s can be watched', (domain, fault) => {
    expect(domainFault(shipped, domain)).toBe(fault);
  });
});

describe('the answer of a registry', () => {
  const asked_at = 1_790_000_000_000;
  const about = { domain: 'example.com', server: 'https://rdap.example/com/', asked_at };
  const read = (body: unknown, status = 200) => registrationFrom({ status, body }, about);

  test('says when a registration ends, how it stands and who its registrar is', () => {
    expect(
      read({
        objectClassName: 'domain',
        ldhName: 'EXAMPLE.COM',
        status: ['client transfer prohibited', 'Client Hold'],
        events: [
          { eventAction: 'registration', eventDate: '1995-08-14T04:00:00Z' },
          { eventAction: 'expiration', eventDate: '2027-08-13T04:00:00Z' },
        ],
        entities: [
          { roles: ['abuse'], vcardArray: ['vcard', [['fn', {}, 'text', 'Nobody']]] },
          { roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', ' Names\u0000Ltd ']]] },
        ],
      }),
    ).toEqual({
      is: 'registered',
      ends_at: Date.parse('2027-08-13T04:00:00Z'),
      statuses: ['client transfer prohibited', 'client hold'],
      registrar: 'Names Ltd',
      server: 'rdap.example',
      asked_at,
    });
  });

  test('is not registered where the registry itself says so', () => {
    expect(read({ errorCode: 404, title: 'Not found' }, 404)).toMatchObject({ is: 'unregistered' });
    expect(read('<html>', 404)).toBeUndefined();
    expect(read(undefined, 404)).toBeUndefined();
  });

  test('says nothing where it is about another domain, an error, or no answer', () => {
    expect(read({ objectClassName: 'domain', ldhName: 'example.org' })).toBeUndefined();
    expect(read({ objectClassName: 'entity' })).toBeUndefined();
    expect(read({ objectClassName: 'domain' }, 500)).toBeUndefined();
    expect(read(undefined)).toBeUndefined();
  });

  test('is bounded and never throws, whatever a stranger sends', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(200, 404), (value, status) => {
        read(value, status);
        const said = read({
          objectClassName: 'domain',
          status: value,
          events: value,
          entities: value,
        });
        expect(JSON.stringify(said).length).toBeLessThan(20_000);
      }),
    );
    const long = read({
      objectClassName: 'domain',
      status: Array(1_000).fill('x'.repeat(1_000)),
      entities: [
        { roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, '', '\ud800'.repeat(999)]]] },
      ],
    });
    expect(JSON.stringify(long).length).toBeLessThan(20_000);
  });
});
