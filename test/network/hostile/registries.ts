import { randomBytes } from 'node:crypto';
import type { DocumentReader } from '../../../coordinator/outbound/documents.ts';

/** What registries answer of `bad-N.com`; other domains are registered for two years. */

type Answer = Awaited<ReturnType<DocumentReader['read']>>;

const said = (body: unknown, status = 200): Answer => ({
  status,
  headers: {},
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const megabyte = 1_048_576;
const domain = { objectClassName: 'domain' };
const deep = '['.repeat(megabyte / 4) + ']'.repeat(megabyte / 4);

const behaviours: readonly (() => Answer)[] = [
  () => {
    throw new Error('the registry hung up');
  },
  () => said('x'.repeat(megabyte)),
  () => said(`{"objectClassName":"domain","entities":${deep}}`),
  () => said({ ...domain, status: Array(5_000).fill('x'.repeat(200)) }),
  () => ({ ...said(''), body: randomBytes(megabyte) }),
  () => said('<html>', 404),
  () => said({ ...domain, ldhName: 'another.com' }),
  () =>
    said({
      ...domain,
      events: [{ eventAction: 'expiration', eventDate: '+275760-09-13T00:00:00Z' }],
    }),
  // Another word each time.
  () => said({ ...domain, status: Math.random() < 0.5 ? ['client hold'] : [] }),
  () => said({ ...domain, status: 5, events: {}, entities: [null, [[]]] }),
];

export const hostileDomains = behaviours.map((_, nth) => `bad-${nth}.com`);

export const readHostileRegistry: DocumentReader['read'] = async (url) => {
  const behave = behaviours[Number(/bad-(\d+)\.com$/.exec(url)?.[1])];
  if (behave !== undefined) return behave();
  const eventDate = new Date(Date.now() + 730 * 86_400_000).toISOString();
  return said({ ...domain, events: [{ eventAction: 'expiration', eventDate }] });
};
