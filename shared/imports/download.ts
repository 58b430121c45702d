import { isRecord } from '../base/json.ts';
import { parsed, type Raw, recordsIn } from './rows.ts';

/** Reads from other services what is to be imported, by their own API. */

export const services = ['uptimerobot', 'healthchecks', 'better-stack'] as const;
export type Service = (typeof services)[number];

export function isService(text: string): text is Service {
  return services.some((one) => one === text);
}

/** One request, until the signal ends it; its caller decides what may be reached. */
export type Reach = (
  request: {
    readonly url: string;
    readonly method: 'GET' | 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
  signal?: AbortSignal,
) => Promise<{
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}>;

export class SourceRefused extends Error {
  readonly reason: 'key' | 'later' | 'unreadable';

  constructor(reason: SourceRefused['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

type Dependencies = { readonly reach: Reach; readonly wait: (seconds: number) => Promise<void> };

const hosts: Readonly<Record<Service, string>> = {
  uptimerobot: 'https://api.uptimerobot.com',
  healthchecks: 'https://healthchecks.io',
  'better-stack': 'https://uptime.betterstack.com',
};
/** Twice what one file can have. */
const maxRows = 20_000;
const longestWaitS = 120;
const attempts = 3;

/** `host`: of an installation of one's own. @throws SourceRefused, and what `reach` throws. */
export async function downloadFrom(
  service: Service,
  { key, host = hosts[service] }: { readonly key: string; readonly host?: string | undefined },
  dependencies: Dependencies,
): Promise<Raw> {
  const ask = asker(service, dependencies);
  const base = host.replace(/\/+$/, '');
  switch (service) {
    case 'healthchecks':
      return ask(`${base}/api/v3/checks/`, { 'x-api-key': key });
    case 'better-stack': {
      const data: Raw[] = [];
      for (const list of ['monitor-groups', 'heartbeat-groups', 'monitors', 'heartbeats'])
        data.push(...(await everyPage(`${base}/api/v2/${list}?per_page=100`, key, ask)));
      return { data };
    }
    case 'uptimerobot': {
      const monitors: Raw[] = [];
      for (;;) {
        const answer = await ask(`${base}/v2/getMonitors`, {}, robotForm(key, monitors.length));
        if (answer.stat === 'fail') throw robotRefusal(answer.error);
        const some = recordsIn(answer.monitors);
        monitors.push(...some);
        const total = isRecord(answer.pagination) ? Number(answer.pagination.total) : 0;
        if (some.length === 0 || monitors.length >= total) break;
        refuseTooMany(service, monitors);
      }
      return { monitors };
    }
  }
}

function robotForm(key: string, offset: number): string {
  return new URLSearchParams({
    api_key: key,
    format: 'json',
    limit: '50',
    offset: String(offset),
    custom_http_headers: '1',
    custom_http_statuses: '1',
    http_request_details: '1',
    alert_contacts: '1',
    mwindows: '1',
  }).toString();
}

function robotRefusal(error: unknown): SourceRefused {
  const said = isRecord(error) ? String(error.message ?? error.type ?? '') : '';
  return isRecord(error) && error.parameter_name === 'api_key'
    ? wrongKey('uptimerobot')
    : new SourceRefused('unreadable', `UptimeRobot refuses: ${said.slice(0, 200)}`);
}

const names: Readonly<Record<Service, string>> = {
  uptimerobot: 'UptimeRobot',
  healthchecks: 'Healthchecks',
  'better-stack': 'Better Stack',
};

function wrongKey(service: Service): SourceRefused {
  return new SourceRefused(
    'key',
    `${names[service]} does not accept this key; enter one of its API that may read.`,
  );
}

type Ask = (url: string, headers: Readonly<Record<string, string>>, form?: string) => Promise<Raw>;

function asker(service: Service, { reach, wait }: Dependencies): Ask {
  return async (url, headers, form) => {
    for (let attempt = 1; ; attempt += 1) {
      const { status, retryAfter, text } = await reach({
        url,
        method: form === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...headers,
          ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(form === undefined ? {} : { body: form }),
      });
      if (status === 401 || status === 403) throw wrongKey(service);
      const seconds = Number(retryAfter ?? '10');
      if (status === 429 && attempt < attempts && seconds > 0 && seconds <= longestWaitS) {
        await wait(seconds);
        continue;
      }
      if (status === 429)
        throw new SourceRefused(
          'later',
          `${names[service]} allows no more calls for now; try again later.`,
        );
      const body = parsed(text);
      if (status === 200 && isRecord(body)) return body;
      throw new SourceRefused(
        'unreadable',
        `${names[service]} answers ${status} with something that is no list.`,
      );
    }
  };
}

function refuseTooMany(service: Service, { length }: readonly Raw[]): void {
  if (length > maxRows)
    throw new SourceRefused('unreadable', `${names[service]} lists more than a file can have.`);
}

/** Follows the pages, on the same host alone: the key goes nowhere else. */
async function everyPage(first: string, key: string, ask: Ask): Promise<readonly Raw[]> {
  const rows: Raw[] = [];
  const { origin } = new URL(first);
  let next: string | undefined = first;
  while (next !== undefined) {
    const answer: Raw = await ask(next, { authorization: `Bearer ${key}` });
    const some = recordsIn(answer.data);
    rows.push(...some);
    refuseTooMany('better-stack', rows);
    if (some.length === 0) break;
    const following: unknown = isRecord(answer.pagination) ? answer.pagination.next : undefined;
    next = typeof following === 'string' && sameOrigin(following, origin) ? following : undefined;
  }
  return rows;
}

function sameOrigin(url: string, origin: string): boolean {
  return URL.canParse(url) && new URL(url).origin === origin;
}
