import { array, dateTime, maybe, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** What only pages ask. */
export const listCertificates = innerOperation({
  id: 'listCertificates',
  access: 'read',
  summary: 'List the certificates of monitors as they were seen last, those that expire first',
  query: { monitor: maybe(uuid(), { description: 'Only of this monitor.' }) },
  response: object('CertificatesOut', {
    items: array(
      object('CertificateOut', {
        monitor: uuid(),
        name: string(),
        issuer: string(),
        fingerprint: string(),
        ends_at: dateTime(),
        seen_at: dateTime(),
      }),
    ),
  }),
});
