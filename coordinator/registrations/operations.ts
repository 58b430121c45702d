import * as api from '../../shared/api/expiry.ts';
import { domainOf } from '../../shared/checks/domain/config.ts';
import { handle } from '../gate/bind.ts';
import { monitorKey } from '../gate/records.ts';
import { domainMonitors, registrationsOf } from './queries.ts';

export const listDomains = handle(api.listDomains)(async ({ sql, organisation }, { monitor }) => {
  if (monitor !== null) await monitorKey(sql, organisation.id, monitor);
  const watched = (await domainMonitors(sql, organisation.id, monitor)).map((row) => ({
    ...row,
    domain: domainOf(row.target) ?? row.target,
  }));
  const known = await registrationsOf(
    sql,
    watched.map(({ domain }) => domain),
  );
  const items = watched.flatMap(({ id, name, domain }) => {
    const said = known.get(domain);
    return said?.is === 'registered' && said.ends_at !== null
      ? [{ monitor: id, name, domain, registrar: said.registrar ?? '', ends: said.ends_at }]
      : [];
  });
  return {
    items: items
      .toSorted((a, b) => a.ends - b.ends || a.domain.localeCompare(b.domain))
      .map(({ ends, ...item }) => ({ ...item, ends_at: new Date(ends).toISOString() })),
    next_cursor: null,
  };
});
