import { expect, test } from 'vitest';
import { passkeyPlace } from '../../../coordinator/people/passkeys.ts';

test('passkeys are for a host with a name, over https; on the machine itself that is localhost', () => {
  expect(passkeyPlace('https://antipode.example')).toEqual({ host: 'antipode.example', origin: 'https://antipode.example' });
  expect(passkeyPlace('https://antipode.example:8443/')).toEqual({ host: 'antipode.example', origin: 'https://antipode.example:8443' });
  const here = { host: 'localhost', origin: 'http://localhost:8080' };
  for (const url of ['http://127.0.0.1:8080', 'http://[::1]:8080', 'http://localhost:8080']) expect(passkeyPlace(url)).toEqual(here);
  for (const url of ['http://antipode.example', 'https://192.0.2.1', 'https://[2001:db8::1]', 'http://192.0.2.1:8080', ''])
    expect([url, passkeyPlace(url)]).toEqual([url, null]);
});
