import { dateTime, maybe, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page } from './operation.ts';

/** What ends by itself: certificates, and the registrations of domains. */

const query = { monitor: maybe(uuid(), { description: 'Only of this monitor.' }) };
const monitor = uuid({ example: exampleIds.monitor });
const name = string({ meaning: 'The name of the monitor.', example: 'Shop' });
const ends_at = dateTime({ meaning: 'When it expires.', example: '2027-01-14T09:12:33.000Z' });

export const listCertificates = operation({
  id: 'listCertificates',
  method: 'GET',
  path: '/api/v1/certificates',
  tag: 'Expiry',
  access: 'read',
  summary: 'List the certificates of monitors',
  description:
    'As they were seen last, those that expire first come first. Up to 1,000, all on one page.',
  query,
  response: page(
    'CertificatesOut',
    object('CertificateOut', {
      monitor,
      name,
      issuer: string({ meaning: 'Who issued it.', example: 'R11, Let’s Encrypt' }),
      fingerprint: string({
        meaning: 'Its SHA-256 fingerprint.',
        example: '5f1d0c5e9a7b4f286f1d0c5e9a7b4f286f1d0c5e9a7b4f286f1d0c5e9a7b4f28',
      }),
      ends_at,
      seen_at: dateTime({ meaning: 'When it was seen last.', example: '2026-11-20T12:00:00.000Z' }),
    }),
  ),
  refusals: ['monitor_not_found'],
  columns: ['name', 'ends_at', 'issuer', 'seen_at', 'monitor'],
});

export const listDomains = operation({
  id: 'listDomains',
  method: 'GET',
  path: '/api/v1/domains',
  tag: 'Expiry',
  access: 'read',
  summary: 'List the watched domains whose end is known',
  description:
    'Of monitors of the type `domain`, those that expire first come first, all on one page. The domain of a status page stands in `getStatusPage`.',
  query,
  response: page(
    'DomainsOut',
    object('DomainOut', {
      monitor,
      name,
      domain: string({ meaning: 'The domain.', example: 'harbour.example.com' }),
      registrar: string({ meaning: 'Where it is registered.', example: 'Example Registrar' }),
      ends_at,
    }),
  ),
  refusals: ['monitor_not_found'],
  columns: ['domain', 'ends_at', 'registrar', 'name', 'monitor'],
});
