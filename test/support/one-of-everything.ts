/** For test files: one of everything that an organisation can have. */
import { newId } from '../../shared/base/crypto.ts';
import { type Api, call } from './api.ts';
import type { Person } from './people.ts';

export type Things = {
  /** In the group, in the window, and on the page. */
  readonly monitor: string;
  readonly otherMonitor: string;
  readonly group: string;
  readonly otherGroup: string;
  readonly window: string;
  readonly page: string;
  readonly incident: string;
  /** Of whoever made it. */
  readonly channel: string;
  /** On the page, to the incident. */
  readonly post: string;
  /** Of a private probe. */
  readonly probeInvitation: string;
  readonly probe: string;
};

const idOf = (body: unknown): string => {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') return body.id;
  throw new Error(`what the test needs could not be made: ${JSON.stringify(body)}`);
};

export const createThings = async (api: Api, { organisation, readWrite }: Person, options = { published: true }): Promise<Things> => {
  const send = async (url: string, payload: object): Promise<string> =>
    idOf((await call(api, readWrite, { method: 'POST', url, payload })).body);
  const [page, incident] = [newId(), newId()];
  await api.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${organisation}, 'Public', ${`page-${page}`})`;
  const group = await send('/api/v1/groups', { name: 'Web' });
  const otherGroup = await send('/api/v1/groups', { name: `Other ${page}` });
  const monitor = await send('/api/v1/monitors', { type: 'https', target: 'https://example.org/', group });
  const otherMonitor = await send('/api/v1/monitors', { type: 'heartbeat', name: 'Backup' });
  const window = await send('/api/v1/maintenance', { starts_at: '2099-01-01', ends_at: '2099-01-02', monitors: [monitor] });
  await api.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent)
    values (${incident}, ${organisation}, ${monitor}, now(), now(), 'probe-Europe', 'Europe')`;
  const channel = await send('/api/v1/channels', {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    personal: true,
    try: false,
  });
  const post = newId();
  await api.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
    values (${post}, ${page}, ${organisation}, ${incident}, 'investigating', 'We look into it.', now())`;
  if (options.published) await call(api, readWrite, { method: 'POST', url: `/api/v1/status-pages/${page}/groups`, payload: { group } });
  const probeInvitation = newId();
  await api.sql`insert into probe_invitations (id, organisation_id, name, continent, fingerprint, shown, created_at, expires_at)
    values (${probeInvitation}, ${organisation}, ${probeInvitation}, 'Africa', ${Buffer.from(probeInvitation)}, 'svcj_…', now(), now() + interval '1 hour')`;
  const probe = newId();
  await api.sql`insert into probes (id, organisation_id, name, continent) values (${probe}, ${organisation}, ${probe}, 'Africa')`;
  return { monitor, otherMonitor, group, otherGroup, window, page, incident, channel, post, probeInvitation, probe };
};
