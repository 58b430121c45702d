import { isRecord } from '../base/json.ts';
import { beginImport, type Imported, type Work } from './result.ts';
import { cleaned, type Raw, type Row, recordsIn, rowOf } from './rows.ts';
import {
  addressFrom,
  bodyFrom,
  consistent,
  credentialsFrom,
  echoTimeout,
  endpointFrom,
  headersFrom,
  hostFrom,
  intervalFrom,
  methodFrom,
  omitUnread,
  partsOf,
  patternsFrom,
  payloadFrom,
  questionFrom,
  resolverFrom,
  secondsFrom,
  sendFrom,
  statusesFrom,
  tagsFrom,
  timeoutFrom,
} from './settings.ts';

/**
 * Prometheus' blackbox_exporter: the targets of scrape configs whose parameter names a module, or a
 * list of targets as `file_sd_configs` read; and the modules of blackbox.yml, where they are given.
 */
export function importBlackbox(configs: readonly unknown[]): Imported {
  const work = beginImport();
  const modules = new Map<string, Raw>();
  const scrapes: Raw[] = [];
  for (const config of configs) {
    const raw = cleaned(config);
    if (Array.isArray(raw)) scrapes.push({ static_configs: raw, params: { module: ['http_2xx'] } });
    if (!isRecord(raw)) continue;
    for (const [name, module] of Object.entries(isRecord(raw.modules) ? raw.modules : {}))
      if (isRecord(module)) modules.set(name, module);
    const global = isRecord(raw.global) ? raw.global : {};
    for (const scrape of recordsIn(raw.scrape_configs))
      scrapes.push({ scrape_interval: global.scrape_interval, ...scrape });
  }
  for (const scrape of scrapes) addTargets(rowOf(scrape), modules, work);
  return work.done();
}

function addTargets(scrape: Row, modules: ReadonlyMap<string, Raw>, work: Work): void {
  const job = scrape.text('job_name') || 'targets';
  const params = scrape.inner('params');
  const [named] = params.texts('module');
  if (named === undefined) {
    work.omit(job, 'its params name no module: this is no job of blackbox_exporter.');
    return;
  }
  for (const kind of [
    'file_sd_configs',
    'http_sd_configs',
    'dns_sd_configs',
    'kubernetes_sd_configs',
  ])
    if (scrape.records(kind).length > 0)
      work.omit(job, 'targets that Prometheus finds are imported from a list of their own.');
  const module = modules.get(named) ?? usualModule(named);
  for (const one of scrape.records('static_configs')) {
    const row = rowOf(one);
    const labels = row.value('labels');
    const tags = tagsFrom(
      Object.entries(isRecord(labels) ? labels : {}).flatMap(([label, value]) =>
        isOwnLabel(label) ? [] : [String(value)],
      ),
    );
    for (const target of row.texts('targets')) {
      const monitor = module && monitorOf(module, target, scrape, work);
      if (module === undefined)
        work.omit(target, `the module ${named} is not known: add blackbox.yml.`);
      else if (monitor) work.add('monitors', target, { ...monitor, tags });
    }
  }
}

/** Labels that say how Prometheus finds things. */
function isOwnLabel(label: string): boolean {
  return label.startsWith('__');
}

/** Modules that have the names of the example, where blackbox.yml was not given. */
function usualModule(name: string): Raw | undefined {
  const [, prober] = /^(http|tcp|icmp|dns|grpc|ssh)/.exec(name) ?? [];
  if (prober === undefined) return undefined;
  if (prober === 'ssh')
    return { prober: 'tcp', tcp: { query_response: [{ expect: '^SSH-2.0-' }] } };
  return name.includes('post') ? { prober: 'http', http: { method: 'POST' } } : { prober };
}

const meaningless = new Set([
  'body_size_limit',
  'compression',
  'enable_http2',
  'enable_http3',
  'follow_redirects',
]);

function monitorOf(given: Raw, target: string, scrape: Row, work: Work): Raw | undefined {
  const module = rowOf(given);
  const interval_s = intervalFrom(
    secondsFrom(scrape.text('scrape_interval') || '60s'),
    target,
    work,
  );
  const timeout_ms = timeoutFrom(secondsFrom(module.text('timeout')), interval_s);
  const prober = module.text('prober');
  const raw = module.value(prober);
  const row = rowOf(isRecord(raw) ? raw : {}, meaningless);
  const made = (type: string, at: string, config: Raw): Raw => {
    const ip_family = familyOf(row, type, target, work);
    omitUnread(row, target, work);
    return {
      type,
      target: at,
      interval_s,
      config: {
        timeout_ms: type === 'icmp' ? echoTimeout(timeout_ms) : timeout_ms,
        ip_family,
        ...config,
      },
    };
  };
  const tls = row.inner('tls_config');
  const verify_tls = tls.isOn('insecure_skip_verify') ? false : undefined;
  const onPort = (config: Raw): Raw | undefined => {
    const [host, port] = partsOf(target);
    const at = endpointFrom(host, port, target, work);
    return at === undefined ? undefined : made('tcp', at, config);
  };
  switch (prober) {
    case 'http': {
      const address = addressFrom(
        /^https?:\/\//i.test(target) ? target : `http://${target}`,
        target,
        work,
      );
      if (address === undefined) return undefined;
      const headers = row.value('headers');
      const auth = row.inner('basic_auth');
      const config = {
        method: methodFrom(row.text('method'), target, work),
        headers: isRecord(headers) ? headersFrom(headers, target, work) : undefined,
        body: bodyFrom(row.text('body'), target, work),
        expected_status: statusesFrom(row.texts('valid_status_codes'), target, work),
        basic_auth:
          address.basic_auth ??
          credentialsFrom(auth.text('username'), auth.text('password'), target, work),
        bearer_token: tokenOf(row, target, work),
        follow_redirects:
          row.isOff('follow_redirects') || row.isOn('no_follow_redirects') ? false : undefined,
        body_matches: patternsFrom(row.texts('fail_if_body_not_matches_regexp'), target, work),
        body_not_matches: patternsFrom(row.texts('fail_if_body_matches_regexp'), target, work),
        ...headerPatternsOf(row, target, work),
        verify_tls,
      };
      return made('https', address.target, consistent(config, target, work));
    }
    case 'tcp': {
      const answers = row.records('query_response');
      const isSsh = answers.some(({ expect }) => String(expect).startsWith('^SSH'));
      const isSmtp = answers.some(({ expect }) => /^\^?220/.test(String(expect)));
      const isStartTls = answers.some(({ starttls }) => starttls === true);
      return onPort({
        ...(isSsh || isSmtp ? {} : talkOf(answers, target, work)),
        banner: isSsh ? 'ssh' : isSmtp ? 'smtp' : undefined,
        tls: row.isOn('tls') ? 'implicit' : isSmtp && isStartTls ? 'smtp' : undefined,
        verify_tls,
        server_name: tls.text('server_name'),
      });
    }
    case 'icmp':
      return hostFrom(target, target, work) === undefined ? undefined : made('icmp', target, {});
    case 'dns': {
      const [server, port] = partsOf(target);
      const name = row.text('query_name');
      if (questionFrom(name, row.text('query_type'), target, work) === undefined) return undefined;
      const [code = '', ...others] = row.texts('valid_rcodes');
      if (others.length > 0) work.omit(target, `of its valid_rcodes ${code} alone is expected.`);
      if (row.text('query_type') === 'ANY')
        work.omit(target, 'its query_type ANY has no counterpart; A is asked for.');
      return made('dns', name, {
        record_type: row.text('query_type') === 'ANY' ? '' : row.text('query_type'),
        resolver: resolverFrom(server, port, target, work),
        transport: row.text('transport_protocol'),
        expected_rcode: code,
      });
    }
    case 'grpc': {
      const [host, port] = partsOf(target);
      const at = endpointFrom(host, port, target, work);
      const scheme = row.isOn('tls') ? 'grpcs' : 'grpc';
      return at === undefined
        ? undefined
        : made('grpc', `${scheme}://${at}`, { service: row.text('service'), verify_tls });
    }
  }
  work.omit(target, `a module of prober ${prober || 'unknown'} has no counterpart as it is.`);
  return undefined;
}

/** By what addresses alone; where either will do, a check tries them as they come. */
function familyOf(row: Row, type: string, target: string, work: Work): string | undefined {
  const preferred = row.text('preferred_ip_protocol');
  const isAlone = row.isOff('ip_protocol_fallback');
  row.value('ip_protocol_fallback');
  const [, family = '6'] = /^ip([46])$/.exec(preferred) ?? [];
  if (isAlone && type !== 'dns') return family;
  if (isAlone || preferred !== '')
    work.omit(
      target,
      type === 'dns'
        ? 'its preferred_ip_protocol has no counterpart: a name server is asked by its address.'
        : 'its preferred_ip_protocol is left out, because it falls back to the other; `ip_family` asks for one alone.',
    );
  return undefined;
}

function tokenOf(row: Row, target: string, work: Work): string | undefined {
  const authorization = row.inner('authorization');
  const scheme = authorization.text('type') || 'Bearer';
  const token = row.text('bearer_token') || authorization.text('credentials');
  if (token === '') return undefined;
  if (/^bearer$/i.test(scheme)) return work.secret(target, 'bearer_token', token);
  work.omit(target, `signing in by ${scheme} has no counterpart; set an Authorization header.`);
  return undefined;
}

/** One text that is sent, and one that must come; an expression that is none is left out. */
function talkOf(answers: readonly Raw[], target: string, work: Work): Raw {
  const texts = (field: string): readonly string[] =>
    answers.map((answer) => rowOf(answer).text(field)).filter((text) => text !== '');
  const [sends, expects] = [texts('send'), texts('expect')];
  const [sent = '', expected = ''] = [sends[0], expects[0]];
  const literal = expected.replace(/^\^/, '');
  if (sends.length > 1 || expects.length > 1 || /[\\^$.|?*+()[\]{}]/.test(literal)) {
    work.omit(
      target,
      'what it sends and expects is left out: `send` and `expect` say one text each.',
    );
    return {};
  }
  if (literal !== expected)
    work.omit(target, `what it expects, ${expected}, is met anywhere in what comes.`);
  return {
    // Its lines end so.
    send: sendFrom(sent === '' ? '' : `${sent}\n`, partsOf(target)[1], target, work),
    expect: payloadFrom(literal, target, work),
  };
}

/** What headers must match, and what they must not. There a missing header fails, unless allowed. */
function headerPatternsOf(row: Row, target: string, work: Work): Raw {
  const [matches, matchesNot] = [new Map<string, string>(), new Map<string, string>()];
  const add = (to: Map<string, string>, header: string, pattern: string): void => {
    const isName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(header);
    if (isName && !to.has(header) && to.size < 20) to.set(header, pattern);
    else
      work.omit(
        target,
        `the pattern ${pattern} of the header ${header} is left out: 20 headers have one pattern each; write two as one, with |.`,
      );
  };
  const each = (field: string) =>
    row.records(field).flatMap((raw) => {
      const one = rowOf(raw);
      const [pattern] = patternsFrom([one.text('regexp')], target, work) ?? [];
      const [header, isOptional] = [one.text('header'), one.isOn('allow_missing')];
      return pattern === undefined ? [] : [{ header, pattern, isOptional }];
    });
  for (const { header, pattern, isOptional } of each('fail_if_header_not_matches')) {
    if (isOptional)
      work.omit(
        target,
        `the pattern ${pattern} of the header ${header} is left out: a header that must match must be there.`,
      );
    else add(matches, header, pattern);
  }
  for (const { header, pattern, isOptional } of each('fail_if_header_matches')) {
    add(matchesNot, header, pattern);
    // Any value will do.
    if (!isOptional && !matches.has(header)) add(matches, header, '^');
  }
  return {
    ...(matches.size > 0 && { header_matches: Object.fromEntries(matches) }),
    ...(matchesNot.size > 0 && { header_not_matches: Object.fromEntries(matchesNot) }),
  };
}
