import { importBetterStack } from './better-stack.ts';
import { importBlackbox } from './blackbox.ts';
import { importGatus, isGatus, mergeConfigs } from './gatus.ts';
import { importHealthchecks } from './healthchecks.ts';
import type { Imported } from './result.ts';
import { parsed } from './rows.ts';
import { importKuma, kumaTablesOf } from './uptime-kuma.ts';
import { importUptimeRobot, uptimeRobotTable } from './uptimerobot.ts';

/** From where monitors can be moved in, in the order in which people are asked. */

export const sources = [
  'uptime-kuma',
  'uptimerobot',
  'healthchecks',
  'better-stack',
  'gatus',
  'blackbox',
] as const;
export type Source = (typeof sources)[number];

export function isSource(text: string): text is Source {
  return sources.some((one) => one === text);
}

export const sourceNames: Readonly<Record<Source, string>> = {
  'uptime-kuma': 'Uptime Kuma',
  uptimerobot: 'UptimeRobot',
  healthchecks: 'Healthchecks',
  'better-stack': 'Better Stack',
  gatus: 'Gatus',
  blackbox: 'Prometheus blackbox exporter',
};

/** Whether its files are YAML; those of the others are JSON. */
export function isYaml(source: Source): boolean {
  return source === 'gatus' || source === 'blackbox';
}

/** What stands in a file of a source that is not YAML; undefined where that cannot be read. */
export function readAnswer(source: Source, text: string): unknown {
  const plain = text.replace(/^\uFEFF/, '');
  return parsed(plain) ?? (source === 'uptimerobot' ? uptimeRobotTable(plain) : undefined);
}

export function unreadable(source: Source): string {
  return source === 'uptimerobot' ? 'is neither JSON nor a CSV of monitors.' : 'is not JSON.';
}

/**
 * What was read of it, as objects of a file; a sentence when it is something else.
 * `today`, as 2026-11-26.
 */
export function convert(
  source: Source,
  documents: readonly unknown[],
  today: string,
): Imported | string {
  const [first] = documents;
  const found = (imported: Imported, hint: string): Imported | string =>
    Object.values(imported.objects).every((kind) => Object.keys(kind).length === 0) &&
    imported.omissions.length === 0
      ? `There is nothing to import from ${sourceNames[source]} in it: ${hint}`
      : imported;
  switch (source) {
    case 'uptime-kuma': {
      const tables = kumaTablesOf(first);
      return tables === undefined
        ? 'This is no backup of Uptime Kuma: choose the JSON that its version 1 exports, or kuma.db.'
        : found(importKuma(tables, today), 'it has no monitors.');
    }
    case 'gatus': {
      const config = mergeConfigs(documents);
      return isGatus(config)
        ? importGatus(config)
        : 'This is no configuration of Gatus: it has no `endpoints`.';
    }
    case 'blackbox':
      return found(
        importBlackbox(documents),
        'it must have `scrape_configs` with targets, or a list of targets, and blackbox.yml beside.',
      );
    case 'uptimerobot':
      return found(
        importUptimeRobot(first),
        'it must be the answer of getMonitors, or the CSV of its export.',
      );
    case 'healthchecks':
      return found(importHealthchecks(first), 'it must be the answer of /api/v3/checks/.');
    case 'better-stack':
      return found(importBetterStack(first), 'it must be the answer of /api/v2/monitors.');
  }
}
