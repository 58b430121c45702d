import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { configFaults, mergeSecrets, splitSecrets } from '../../../shared/checks/config.ts';
import {
  clientCertificateFault,
  readClientCertificate,
} from '../../../shared/checks/connection/client-certificate.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';

const authority = mintAuthority('Clients');
const { certificate, chain, key } = mint({ commonName: 'monitor', issuer: authority });
const rsa = mint({ commonName: 'monitor', key: 'rsa' });
const other = mint({ commonName: 'other' });
const cut = (pem: string): string => pem.replace(/\n[^\n]{20,}\n/, '\nAAAA\n');
/** The same certificate, with another kind of key than that of elliptic curves. */
const unknownKey = (pem: string): string => {
  const der = new X509Certificate(pem).raw.toString('hex');
  const other = Buffer.from(der.replace('06072a8648ce3d0201', '06072a8648ce3d027f'), 'hex');
  return `-----BEGIN CERTIFICATE-----\n${other.toString('base64')}\n-----END CERTIFICATE-----\n`;
};
/** With an RSA key of 1,024 bits, which no tool of ours makes. */
const weak = `
-----BEGIN CERTIFICATE-----
MIIB/DCCAWWgAwIBAgIUAx9As3u7BAqRXaY9/uxHQxsPckcwDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjUyMjQxNThaGA8yMTI2MTEwMTIy
NDE1OFowDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkC
gYEA58ob6RPAUoAeVCELolZHUf0rGibbKqdalrE7PbbO6yRIO26EBR1Tvi+vjpcQ
B23hW3pE377qhHnae3/OYihQgorA29eKZiAhi4+7SEf4+zvH4EM4+/L+fq2WNsjh
Am3UKNEvAwWlOrarSQkc1hvNukVd+zU1R5359wByGebz0zsCAwEAAaNTMFEwHQYD
VR0OBBYEFOU7M8kQIUVthA4SkIhuAHVoAAQlMB8GA1UdIwQYMBaAFOU7M8kQIUVt
hA4SkIhuAHVoAAQlMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADgYEA
Y0wcNVr80p47i/ts5aG/UhD7lisAeAqg5IRb5Xk6/WbdsCQ7wWgQqeWfzvjO+krv
cqoOqrk+DXor+l0tyo9br21Ket6bxiydE6rVmYXNU6k6PqFvpSpmFlW+TjmclkA0
8rc9srF+IFafRfwktB1LibJzAVzcBndpK+isv6JeFeM=
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAOfKG+kTwFKAHlQh
C6JWR1H9Kxom2yqnWpaxOz22zuskSDtuhAUdU74vr46XEAdt4Vt6RN++6oR52nt/
zmIoUIKKwNvXimYgIYuPu0hH+Ps7x+BDOPvy/n6tljbI4QJt1CjRLwMFpTq2q0kJ
HNYbzbpFXfs1NUed+fcAchnm89M7AgMBAAECgYEAyCZGyZHrnZHSHpVWZXyZI1w4
ruFkmUVfvQYXgKftrzBqSx+YUo5LdMvajYc2KSQh2AsRlB9YhMJv/fqTrUDgmuQV
Af+/0ZX5JOLHNUu4KvKowV9Ffwzb2qqBs6J1Hb1escpzwR6T+VA5hKopOxZ01odH
JdglnI5XnmekFDXGCNkCQQD3fawqqa6GCzNFiTUPmr5iqz68hvDScl+IYCWVmYLF
vhDqIqH7ul/HfZO7Ya3ByUGEojB/uFIRF2Bn0bzDWXmXAkEA78I8940XPh4O88CF
aXYrZFfeVoTQbkF0sPEUj4lYNTSOHpCqzOyR92BQsZnbje1XltUFFx7tN8jixPcl
nIm//QJBAIwDGOd53zYOGA96s/4D+Tkwz+kwHgWwlsM8QYcEtarRABi1RxZ2NcFS
FcWoWPiMtvgmGXHoAOWSaAPT8ApEEDkCQCgONmtROhHZqbvVbTSKVoOEHpQryjqx
WtJ45Gt6ka8J4bh/iNmFqHlAsRqKzuBuR5Teb+RF+XG5cRFhDPqTFO0CQFH7Bg9q
ft9TA7b1IuFhj6//MnRtdQTntajlMvR1Ne/KMcUVMR2k24bsVVDSsQoyrv+8ln3r
KrBMXuDSmdlvdQE=
-----END PRIVATE KEY-----`;

describe('a client certificate', () => {
  test.each([
    ['with its key', `${certificate}${key}`],
    ['after its key, with its chain', `${key}${chain}${authority.certificate}`],
    ['of an RSA key', `${rsa.certificate}${rsa.key}`],
    ['with lines of Windows', `${certificate}${key}`.replaceAll('\n', '\r\n')],
    [
      'as openssl pkcs12 writes it',
      `Bag Attributes\n    friendlyName: me\nsubject=CN = monitor\n${certificate}Key Attributes: <No Attributes>\n${key}`,
    ],
    [
      'of a key in the older form of EC',
      `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${createPrivateKey(key).export({ type: 'sec1', format: 'pem' })}${certificate}`,
    ],
    ['that is kept', '***'],
  ])('%s is taken', (_, pem) => {
    expect(clientCertificateFault(pem)).toBeUndefined();
  });

  test.each([
    ['a path', '/etc/ssl/client.pem', /^must be PEM text/],
    ['nothing of PEM', 'AAAA', /^must be PEM text/],
    ['a half', certificate.slice(0, -20), /^must be PEM text/],
    ['a key alone', key, /^add the certificate/],
    ['a certificate alone', certificate, /^add the private key/],
    ['two keys', `${certificate}${key}${other.key}`, /^must have one private key only/],
    ['a whole store', `${certificate.repeat(11)}${key}`, /^must have at most 10 certificates/],
    ['a broken key', `${certificate}${cut(key)}`, /^the private key cannot be read/],
    [
      'a broken certificate',
      `${certificate}${cut(other.certificate)}${key}`,
      /^certificate 2 of 2 cannot be read/,
    ],
    [
      "another's key",
      `${certificate}${other.key}`,
      /^must have the certificate of its private key/,
    ],
    [
      'a chain upside down',
      `${authority.certificate}${certificate}${key}`,
      /^put the certificate of the private key first/,
    ],
    [
      'an encrypted key',
      `${certificate}${createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hush' })}`,
      /^must have a private key without a passphrase/,
    ],
    [
      'an encrypted key in the older form',
      `${rsa.certificate}${createPrivateKey(rsa.key).export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hush' })}`,
      /^must have a private key without a passphrase/,
    ],
    ['one whose key is too short', weak, /^use keys that TLS accepts/],
    [
      'a chain with a key of no kind that anyone knows',
      `${certificate}${unknownKey(authority.certificate)}${key}`,
      /^use keys that TLS accepts/,
    ],
  ])('given as %s is refused with what to do', (_, pem, remedy) => {
    expect(clientCertificateFault(pem)).toMatch(remedy);
  });

  test('is for https:// targets', () => {
    const config = { client_certificate: `${certificate}${key}` };
    expect(configFaults('https', 'https://example.com/', config, 60)).toEqual([]);
    expect(configFaults('https', 'http://example.com/', config, 60)).toMatchObject([
      { key: 'client_certificate', remedy: expect.stringContaining('https://') },
    ]);
  });

  test('is a secret as a whole', () => {
    const pem = `${certificate}${key}`;
    const { open, secrets } = splitSecrets('https', { client_certificate: pem });
    expect(open).toEqual({ client_certificate: '***' });
    expect(mergeSecrets('https', open, secrets)).toEqual({ client_certificate: pem });
  });

  test('is told from another by its id, which shows nothing', () => {
    const [one, two] = [chain + key, other.certificate + other.key].map(readClientCertificate);
    expect(one?.id).toMatch(/^[0-9a-f]{64}$/);
    expect(one?.id).not.toBe(two?.id);
    expect(one?.certificates.match(/BEGIN CERTIFICATE/g)).toHaveLength(
      chain.match(/BEGIN CERTIFICATE/g)?.length ?? 0,
    );
  });
});
