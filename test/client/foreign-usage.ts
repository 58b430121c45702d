/**
 * A program as a user of the API would write it: everything it knows of the service is the
 * generated types.
 */
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './generated/api.d.ts';

export type Monitor = components['schemas']['MonitorOut'];

export const clientOf = (baseUrl: string, token: string): Client<paths> =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

/** What was answered, or a failure that says why: both kinds of error body are in the types. */
const must = <T>(answer: {
  data?: T;
  error?: components['schemas']['ErrorOut'] | components['schemas']['HTTPValidationError'];
}): T => {
  if (answer.data !== undefined) return answer.data;
  const error = answer.error;
  if (error && 'error' in error) throw new Error(error.error.code);
  throw new Error(
    error?.detail?.map(({ loc, type }) => `${loc.join('.')}: ${type}`).join('; ') ?? 'no answer',
  );
};

export const allMonitors = async (
  client: Client<paths>,
  limit: number,
): Promise<readonly Monitor[]> => {
  const monitors: Monitor[] = [];
  let cursor: string | null = null;
  do {
    const page: components['schemas']['MonitorPage'] = must(
      await client.GET('/api/v1/monitors', {
        params: { query: { limit, ...(cursor === null ? {} : { cursor }) } },
      }),
    );
    monitors.push(...page.items);
    cursor = page.next_cursor ?? null;
  } while (cursor !== null);
  return monitors;
};

const fresh = { affects_group_status: true, target: '', name: '' };

/** Goes through the resources as a deployment script would, and tells what it found. */
export const deploy = async (client: Client<paths>) => {
  const me = must(await client.GET('/api/v1/me'));
  const group = must(await client.POST('/api/v1/groups', { body: { name: 'Web' } }));
  const again = await client.POST('/api/v1/groups', { body: { name: ' web ' } });
  const shop = must(
    await client.POST('/api/v1/monitors', {
      body: {
        ...fresh,
        type: 'https',
        target: 'https://shop.example.com/',
        group: group.id,
        config: { expected_status: ['2xx'] },
      },
    }),
  );
  const backup = must(
    await client.POST('/api/v1/monitors', {
      body: { ...fresh, type: 'heartbeat', name: 'Backup', interval_s: 3600 },
    }),
  );
  const byId = { params: { path: { monitor_id: shop.id } } };
  const paused = must(
    await client.PATCH('/api/v1/monitors/{monitor_id}', {
      ...byId,
      body: { enabled: false, ungroup: false },
    }),
  );
  const status = must(
    await client.GET('/api/v1/monitors/{monitor_id}/status', {
      params: { ...byId.params, query: { days: 7 } },
    }),
  );
  const window = must(
    await client.POST('/api/v1/maintenance', {
      body: {
        starts_at: '2099-01-05T02:00:00',
        ends_at: '2099-01-05T03:00:00Z',
        rrule: 'FREQ=WEEKLY',
        monitors: [shop.id],
        groups: [group.id],
      },
    }),
  );
  const incidents = must(
    await client.GET('/api/v1/incidents', { params: { query: { state: 'open' } } }),
  );
  const windowGone = await client.DELETE('/api/v1/maintenance/{window_id}', {
    params: { path: { window_id: window.id } },
  });
  const gone = await client.DELETE('/api/v1/monitors/{monitor_id}', {
    params: { path: { monitor_id: backup.id } },
  });
  const missing = await client.GET('/api/v1/monitors/{monitor_id}', {
    params: { path: { monitor_id: backup.id } },
  });
  const crooked = await client.GET('/api/v1/monitors/{monitor_id}', {
    params: { path: { monitor_id: '123' } },
  });
  return {
    scope: me.scope,
    sameGroup: again.data?.id === group.id,
    statuses: [
      again.response.status,
      windowGone.response.status,
      gone.response.status,
      missing.response.status,
      crooked.response.status,
    ],
    paused: paused.enabled,
    status: status.status,
    days: status.uptime.days,
    covered: [...window.monitors, ...window.groups],
    incidents: incidents.items.length,
    missing: missing.error && 'error' in missing.error ? missing.error.error.code : undefined,
    crooked:
      crooked.error && 'detail' in crooked.error ? crooked.error.detail?.[0]?.type : undefined,
    shop,
    group,
  };
};

/** Never called: what must not compile. */
export const mistakes = async (client: Client<paths>): Promise<void> => {
  // @ts-expect-error there is no such route
  await client.GET('/api/v1/monitor');
  // @ts-expect-error the type of a monitor is required
  await client.POST('/api/v1/monitors', { body: { ...fresh } });
  const params = { path: { monitor_id: '' } };
  // @ts-expect-error an interval is a number
  const body: components['schemas']['MonitorPatch'] = { ungroup: false, interval_s: '60' };
  await client.PATCH('/api/v1/monitors/{monitor_id}', { params, body });
  // @ts-expect-error a state is one of three
  await client.GET('/api/v1/incidents', { params: { query: { state: 'closed' } } });
  const { data } = await client.GET('/api/v1/groups');
  // @ts-expect-error a description may be null
  data?.items[0]?.description.length;
};
