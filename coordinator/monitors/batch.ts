import { batchMonitors as operation } from '../../shared/api/monitors.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { orNotFound } from '../gate/context.ts';
import { plans } from '../gate/plans.ts';
import { judgeEach, type Planned, patchOf, writeChanges } from './changes.ts';
import * as contract from './contract.ts';
import { type Monitor, sameJson, usualIntervals } from './model.ts';
import { monitorsForChange } from './queries.ts';

/** Takes a few statements, however many items there are. */
export const batchMonitors = handle(operation)(async (context, { items, mode }) => {
  const known = await monitorsForChange(
    context.sql,
    context.organisation.id,
    [],
    items.map(({ external_id }) => external_id),
  );
  const called = new Map(known.map((row) => [row.external_id, row]));
  const judged = await judgeEach(
    context,
    items.map((item) => ({
      before: called.get(item.external_id?.trim() ?? ''),
      type: item.type,
      patch: patchOf(item),
    })),
    known,
  );
  const planned = judged.flatMap((each) => (each instanceof Refusal ? [] : [each]));
  const refused = judged.length - planned.length;
  const applied = mode === 'each' || refused === 0;
  const done = applied ? planned : [];
  await writeChanges(context, done);
  context.note({ after: { monitors: noted(done), refused } });
  const created = done.filter(({ result }) => result === 'created').length;
  return {
    applied,
    created,
    changed: done.length - created,
    refused,
    items: judged.map((each, position) => {
      const item = {
        id: null,
        name: items[position]?.name || null,
        external_id: items[position]?.external_id ?? null,
        error: null,
      };
      if (each instanceof Refusal) return { ...item, result: 'refused', error: errorJson(each) };
      if (!applied) return { ...item, result: 'left' };
      const { id, result, monitor } = each;
      return {
        result: result === 'created' ? result : 'changed',
        id,
        name: monitor.name,
        external_id: monitor.external_id,
        error: null,
      };
    }),
  };
});

/** As the audit log names them. */
function noted(planned: readonly Planned[]) {
  return planned.flatMap(({ id, monitor: { name }, result }) =>
    result === 'unchanged' ? [] : [{ id, name, result }],
  );
}

function errorJson({ code, message }: Refusal) {
  return { code, message };
}

/**
 * Makes monitors exactly what is sent, each field of them, as far as they are not refused. One that
 * is so already is left alone.
 */
export const putMonitors = handle(contract.putMonitors)(async (context, { items }) => {
  const known = await monitorsForChange(
    context.sql,
    context.organisation.id,
    items.flatMap(({ id }) => id ?? []),
    items.map(({ external_id }) => external_id),
  );
  const byId = new Map(known.map((row) => [row.id, row]));
  const { min_interval_s } = plans[context.organisation.plan];
  const judged = await judgeEach(
    context,
    items.map(({ id, new_id, type, ...item }) => {
      const before = id === null ? undefined : orNotFound(byId.get(id), 'monitor_not_found');
      const usual = before ? Math.max(usualIntervals[before.type], min_interval_s) : null;
      const patch = {
        ...item,
        interval_s: item.interval_s ?? usual,
        config: item.config ?? {},
        ungroup: item.group === null,
        affects_group_status: item.affects_group_status ?? true,
        external_id: item.external_id ?? '',
        tags: item.tags ?? [],
        runbook: item.runbook ?? '',
        depends_on_monitors: item.depends_on_monitors ?? [],
        depends_on_groups: item.depends_on_groups ?? [],
      };
      return { before, id: new_id ?? undefined, type, patch };
    }),
    known,
  );
  const planned = judged.flatMap((each) => (each instanceof Refusal ? [] : [each]));
  await writeChanges(context, planned);
  const monitors = noted(planned);
  context.note({ before: {}, after: monitors.length === 0 ? {} : { monitors } });
  return {
    items: judged.map((each) => {
      if (each instanceof Refusal)
        return { result: 'refused', id: null, before: null, after: null, error: errorJson(each) };
      const { result, id, was, monitor } = each;
      const others = was && !sameJson(was.secrets, monitor.secrets) ? { secrets: 'others' } : {};
      return {
        result,
        id,
        before: was ? settingsOf(was) : null,
        after: { ...settingsOf(monitor), ...others },
        error: null,
      };
    }),
  };
});

function settingsOf({
  organisation: _organisation,
  secrets: _secrets,
  places: _places,
  config_version: _version,
  ...settings
}: Monitor): Readonly<Record<string, unknown>> {
  return settings;
}
