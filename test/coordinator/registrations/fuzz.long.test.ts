import { expect, test } from 'vitest';
import { registrationFrom, registriesFrom } from '../../../coordinator/registrations/model.ts';
import { jsonIn } from '../../../shared/bus/messages.ts';
import { registrationShape } from '../../../shared/checks/domain/registration.ts';
import { readMillion, spoiled } from '../../support/nonsense.ts';

/** A million bytes of spoiled truth into the readers of what registries and IANA say. */

const about = { domain: 'example.com', server: 'https://rdap.example/com/', asked_at: 1 };

test('the reader of registrations throws at nothing, and what it gives can be sent to probes', () => {
  const answer = JSON.stringify({
    objectClassName: 'domain',
    ldhName: 'EXAMPLE.COM',
    status: ['client transfer prohibited', 'client hold'],
    events: [{ eventAction: 'expiration', eventDate: '2027-08-13T04:00:00Z' }],
    entities: [{ roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', 'Names Ltd']]] }],
  });
  let read = 0;
  readMillion(spoiled([answer, '{"errorCode":404,"title":"Not found"}']), (bytes) => {
    // With and without the noise behind it, which no JSON survives.
    for (const body of [bytes, bytes.subarray(0, bytes.lastIndexOf('}') + 1)])
      for (const status of [200, 404]) {
        const said = registrationFrom({ status, body: jsonIn(body) }, about);
        if (said === undefined) continue;
        read += 1;
        expect(registrationShape.parse(said)).toEqual(said);
      }
  });
  expect(read).toBeGreaterThan(100);
}, 120_000);

test('the reader of the list of registries throws at nothing, and takes addresses over TLS alone', () => {
  const list = JSON.stringify({
    publication: '2026-01-01T00:00:00Z',
    services: [
      [
        ['uk', 'co.uk'],
        ['https://uk.example/rdap', 'http://uk.example/'],
      ],
      [['com'], ['https://com.example/']],
    ],
  });
  let read = 0;
  readMillion(spoiled([list]), (bytes) => {
    const found = registriesFrom(jsonIn(bytes.subarray(0, bytes.lastIndexOf('}') + 1)));
    if (found === undefined) return;
    read += 1;
    for (const server of found.servers.values()) expect(server).toMatch(/^https:.*\/$/is);
  });
  expect(read).toBeGreaterThan(100);
}, 120_000);
