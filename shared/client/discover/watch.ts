import { backoff, pause } from '../../base/async.ts';
import { memberOf } from '../../base/json.ts';
import { type Cluster, ClusterFault, getJson, watchLines } from './cluster.ts';
import { type Exposed, type ExposedKind, exposedBy } from './exposed.ts';

/** All objects of one kind, in one namespace or in all: listed once, then kept by watching. */

export type Source = {
  readonly kind: ExposedKind;
  readonly namespace: string | undefined;
  readonly selector: string | undefined;
};

/**
 * `waiting` before the first list; `absent` when the cluster has no such kind; `forbidden` when it may
 * not be read, and what was read before is kept.
 */
type State = 'waiting' | 'ready' | 'absent' | 'forbidden';

export type Kept = {
  readonly source: Source;
  state: State;
  readonly objects: Map<string, Exposed>;
};

const resources: Readonly<Record<ExposedKind, { readonly path: string; readonly plural: string }>> =
  {
    Ingress: { path: '/apis/networking.k8s.io/v1', plural: 'ingresses' },
    HTTPRoute: { path: '/apis/gateway.networking.k8s.io/v1', plural: 'httproutes' },
  };

export function pluralOf(kind: ExposedKind): string {
  return resources[kind].plural;
}

const pageSize = '250';

/**
 * Lists everything, and returns the version from which to watch. A page that has grown too old begins
 * the list again; nothing is kept of a list that was not read to its end. @throws ClusterFault
 */
export async function listInto(kept: Kept, cluster: Cluster, signal: AbortSignal): Promise<string> {
  const { source } = kept;
  const objects = new Map<string, Exposed>();
  let onward: string | undefined;
  let restarts = 0;
  for (;;) {
    const path = pathOf(source, { limit: pageSize, ...(onward && { continue: onward }) });
    let page: unknown;
    try {
      page = await getJson(cluster, path, signal);
    } catch (error) {
      if (!(error instanceof ClusterFault)) throw error;
      if (error.status === 410 && restarts < 3) {
        restarts += 1;
        objects.clear();
        onward = undefined;
        continue;
      }
      if (error.status === 404) {
        kept.objects.clear();
        kept.state = 'absent';
      }
      if (error.status === 403) kept.state = 'forbidden';
      throw error;
    }
    const items = memberOf(page, 'items');
    const metadata = memberOf(page, 'metadata');
    const version = memberOf(metadata, 'resourceVersion');
    if (!Array.isArray(items) || typeof version !== 'string')
      throw new ClusterFault(0, `${cluster.server.origin} does not answer as Kubernetes does`);
    for (const item of items) keep(objects, source.kind, item);
    const more = memberOf(metadata, 'continue');
    onward = typeof more === 'string' && more !== '' ? more : undefined;
    if (onward !== undefined) continue;
    kept.objects.clear();
    for (const [key, object] of objects) kept.objects.set(key, object);
    kept.state = 'ready';
    return version;
  }
}

function pathOf(
  { kind, namespace, selector }: Source,
  query: Readonly<Record<string, string>>,
): string {
  const { path, plural } = resources[kind];
  const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const search = new URLSearchParams({
    ...query,
    ...(selector !== undefined && { labelSelector: selector }),
  });
  return `${path}${within}/${plural}?${search}`;
}

/** Whether it changes anything of what we keep; an object of its name is the same object. */
function keep(objects: Map<string, Exposed>, kind: ExposedKind, item: unknown): boolean {
  const exposed = exposedBy(kind, item);
  if (exposed === undefined) return forget(objects, item);
  const key = `${exposed.namespace}/${exposed.name}`;
  const before = objects.get(key);
  objects.set(key, exposed);
  return JSON.stringify(before) !== JSON.stringify(exposed);
}

function forget(objects: Map<string, Exposed>, item: unknown): boolean {
  const metadata = memberOf(item, 'metadata');
  return objects.delete(
    `${String(memberOf(metadata, 'namespace'))}/${String(memberOf(metadata, 'name'))}`,
  );
}

type Watching = {
  readonly cluster: Cluster;
  readonly signal: AbortSignal;
  readonly changed: () => void;
  /** What keeps it from knowing; undefined once nothing does. */
  readonly tell: (source: Source, obstacle: ClusterFault | undefined) => void;
  readonly pauses: Pauses;
};

export type Pauses = {
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** At most, until a kind that is absent or forbidden is asked for again. */
  readonly unavailableMs: number;
};

/** The server ends a watch after this time; one that outlives it has lost its server. */
const watchS = 300;
const graceS = 30;

/** Follows one source until the signal. It never fails: it tells and tries again. */
export async function follow(kept: Kept, watching: Watching): Promise<void> {
  const { cluster, signal, changed, tell, pauses } = watching;
  let version: string | undefined;
  let attempt = 0;
  while (!signal.aborted) {
    const before = kept.state;
    try {
      if (version === undefined) {
        version = await listInto(kept, cluster, signal);
        tell(kept.source, undefined);
        changed();
      }
      const seen = await watchFrom(version, kept, watching);
      version = seen.version;
      attempt = 0;
      tell(kept.source, undefined);
      // Spares a server that only disconnects.
      if (seen.events === 0) await pause(pauses.firstRetryMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ClusterFault)) throw error;
      const isUnavailable = error.status === 403 || error.status === 404;
      if (version !== undefined && (error.status === 410 || isUnavailable)) {
        // The list says more than a watch that cannot go on.
        version = undefined;
        await pause(pauses.firstRetryMs, signal);
        continue;
      }
      tell(kept.source, error);
      if (kept.state !== before) changed();
      const longest = isUnavailable ? pauses.unavailableMs : pauses.longestRetryMs;
      await pause(backoff(attempt, pauses.firstRetryMs, longest), signal);
      attempt += 1;
    }
  }
}

/** One watch, until it ends. @returns where the next goes on. */
async function watchFrom(
  begin: string,
  kept: Kept,
  { cluster, signal, changed }: Watching,
): Promise<{ readonly version: string; readonly events: number }> {
  const path = pathOf(kept.source, {
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: begin,
    timeoutSeconds: String(watchS),
  });
  const limited = AbortSignal.any([signal, AbortSignal.timeout((watchS + graceS) * 1000)]);
  let version = begin;
  let events = 0;
  for await (const event of watchLines(cluster, path, limited)) {
    const type = memberOf(event, 'type');
    const object = memberOf(event, 'object');
    if (type === 'ERROR') {
      const code = memberOf(object, 'code');
      throw new ClusterFault(
        typeof code === 'number' ? code : 0,
        `a watch ended: ${String(memberOf(object, 'message'))}`,
      );
    }
    events += 1;
    const now = memberOf(memberOf(object, 'metadata'), 'resourceVersion');
    if (typeof now === 'string') version = now;
    const isChange =
      type === 'DELETED'
        ? forget(kept.objects, object)
        : (type === 'ADDED' || type === 'MODIFIED') && keep(kept.objects, kept.source.kind, object);
    if (isChange) changed();
  }
  return { version, events };
}
