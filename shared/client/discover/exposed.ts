import { isRecord, memberOf } from '../../base/json.ts';

/** What Kubernetes objects let people reach from outside: Ingress, and HTTPRoute of the Gateway API. */

export type ExposedKind = 'Ingress' | 'HTTPRoute';

/** A host that an object answers for, with its first path. */
export type Site = { readonly host: string; readonly path: string; readonly isTls: boolean };

/** All that we keep of an object. */
export type Exposed = {
  readonly kind: ExposedKind;
  readonly namespace: string;
  readonly name: string;
  /** Ours alone, without their prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly sites: readonly Site[];
  /** Why a part of it cannot be checked, a sentence each. */
  readonly notes: readonly string[];
};

export const annotationPrefix = 'antipode.example/';

/** Undefined for what is no such object, and for one that is not meant for people. */
export function exposedBy(kind: ExposedKind, object: unknown): Exposed | undefined {
  const metadata = memberOf(object, 'metadata');
  const [namespace, name] = [memberOf(metadata, 'namespace'), memberOf(metadata, 'name')];
  if (typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  // cert-manager makes one for the minute in which it proves a name.
  if (memberOf(memberOf(metadata, 'labels'), 'acme.cert-manager.io/http01-solver') === 'true')
    return undefined;
  const spec = memberOf(object, 'spec');
  if (kind === 'HTTPRoute' && isOnlyRedirect(spec)) return undefined;
  const found = kind === 'Ingress' ? sitesOfIngress(spec) : sitesOfRoute(spec);
  const sites = new Map<string, Site>();
  const notes = found.length === 0 ? [hostless[kind]] : [];
  for (const site of found) {
    if (site.host === '') notes.push(hostless[kind]);
    else if (site.host.startsWith('*'))
      notes.push(`${site.host} is a wildcard, which names no host to check.`);
    else if (!sites.has(site.host)) sites.set(site.host, site);
  }
  return {
    kind,
    namespace,
    name,
    annotations: ownAnnotations(memberOf(metadata, 'annotations')),
    sites: [...sites.values()],
    notes: [...new Set(notes)],
  };
}

const hostless: Readonly<Record<ExposedKind, string>> = {
  Ingress: 'a rule without a host answers for all; there is none to check.',
  HTTPRoute: 'it has no hostnames; add those that it answers for.',
};

function ownAnnotations(annotations: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(isRecord(annotations) ? annotations : {}).flatMap(([key, value]) =>
      key.startsWith(annotationPrefix) && typeof value === 'string'
        ? [[key.slice(annotationPrefix.length), value]]
        : [],
    ),
  );
}

function sitesOfIngress(spec: unknown): readonly Site[] {
  const certificates = listAt(spec, 'tls').map((entry) => listAt(entry, 'hosts').map(String));
  return listAt(spec, 'rules').map((rule) => {
    const host = textAt(rule, 'host');
    const [first] = listAt(memberOf(rule, 'http'), 'paths');
    const isPattern = textAt(first, 'pathType') === 'ImplementationSpecific';
    const path = textAt(first, 'path');
    return {
      host,
      path: (isPattern ? literalPart(path) : path) || '/',
      // One that lists no hosts is for all of them.
      isTls: certificates.some(
        (hosts) => hosts.length === 0 || hosts.some((one) => covers(one, host)),
      ),
    };
  });
}

function listAt(object: unknown, key: string): readonly unknown[] {
  const list = memberOf(object, key);
  return Array.isArray(list) ? list : [];
}

function textAt(object: unknown, key: string): string {
  const text = memberOf(object, key);
  return typeof text === 'string' ? text : '';
}

/** Controllers read such a path as an expression: literal up to its first metacharacter. */
function literalPart(path: string): string {
  const [literal = ''] = /^[^()[\]{}*+?^$|\\]*/.exec(path) ?? [];
  return literal;
}

/** A wildcard stands for one label. */
function covers(certificate: string, host: string): boolean {
  return (
    certificate === host ||
    (certificate.startsWith('*.') && certificate.slice(1) === host.slice(host.indexOf('.')))
  );
}

function sitesOfRoute(spec: unknown): readonly Site[] {
  const parents = listAt(spec, 'parentRefs');
  const answering = listAt(spec, 'rules').filter((rule) => !isRedirect(rule));
  // Certificates are the Gateway's: only a listener of port 80 tells that there is none.
  const isPlain = parents.length > 0 && parents.every((parent) => memberOf(parent, 'port') === 80);
  const path = firstPath(answering);
  return listAt(spec, 'hostnames').map((host) => ({ host: String(host), path, isTls: !isPlain }));
}

/** It sends people to another route, which is checked itself. */
function isOnlyRedirect(spec: unknown): boolean {
  const rules = listAt(spec, 'rules');
  return rules.length > 0 && rules.every(isRedirect);
}

function isRedirect(rule: unknown): boolean {
  return listAt(rule, 'filters').some((filter) => textAt(filter, 'type') === 'RequestRedirect');
}

/** Of the first match that a plain GET meets. */
function firstPath(rules: readonly unknown[]): string {
  const matches = rules.flatMap((rule) => {
    const own = listAt(rule, 'matches');
    return own.length === 0 ? [{}] : own;
  });
  const plain = matches.find((match) => {
    const method = textAt(match, 'method');
    return (
      textAt(memberOf(match, 'path'), 'type') !== 'RegularExpression' &&
      (method === '' || method === 'GET') &&
      listAt(match, 'headers').length === 0 &&
      listAt(match, 'queryParams').length === 0
    );
  });
  return textAt(memberOf(plain, 'path'), 'value') || '/';
}
