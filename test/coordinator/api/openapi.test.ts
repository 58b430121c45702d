import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { apiDocument, responseIn } from '../../../coordinator/api/openapi.ts';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { operations, restOperations } from '../../../shared/api/index.ts';
import { apiRevision, refusalsOf } from '../../../shared/api/operation.ts';
import { judgingTool } from '../../support/processes.ts';

const document = apiDocument('https://antipode.example.org');
const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, entry]) => ({ path, method, entry })),
);

const run = promisify(execFile);

const redocly = judgingTool('@redocly/cli/bin/cli.js');

describe('The API document', () => {
  it.runIf(redocly)(
    'is valid and without warnings under redocly lint',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'antipode-openapi-'));
      try {
        await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
        await writeFile(join(folder, 'redocly.yaml'), 'extends:\n  - recommended\n');
        const { stdout } = await run(
          process.execPath,
          [redocly ?? '', 'lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'json'],
          {
            cwd: folder,
            env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
          },
        );
        expect(JSON.parse(stdout).totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    60_000,
  );

  it('is OpenAPI 3.1, of version 1.1.9, with exactly the operations of the specification', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('1.1.9');
    expect(document.info['x-revision']).toBe(apiRevision);
    expect(entries.map(({ entry }) => entry.operationId).toSorted()).toEqual([...Object.keys(operations), 'getMetrics'].toSorted());
  });

  it('has what the specification tells under its tags, and what came later under tags of its own', () => {
    const specified =
      'whoami listMonitors createMonitor getMonitor updateMonitor deleteMonitor getMonitorStatus listIncidents getIncident listMaintenanceWindows getMaintenanceWindow createMaintenanceWindow deleteMaintenanceWindow listGroups createGroup getGroup updateGroup deleteGroup listStatusPages getStatusPage addStatusPageMonitor removeStatusPageMonitor addStatusPageGroup removeStatusPageGroup'.split(
        ' ',
      );
    const theirs = ['Account', 'Groups', 'Incidents', 'Maintenance', 'Monitors', 'Status pages'];
    for (const { entry } of entries)
      expect([entry.operationId, theirs.includes(entry.tags[0] ?? '')]).toEqual([entry.operationId, specified.includes(entry.operationId)]);
    // Each of them is told of, and none is without an operation.
    expect(document.tags.map(({ name }) => name).toSorted()).toEqual([...new Set(entries.flatMap(({ entry }) => entry.tags))].toSorted());
  });

  it('tells of the figures for Prometheus, which are text', () => {
    const { entry } = entries.find(({ path }) => path === '/api/v1/metrics') ?? {};
    expect(entry?.responses['200']).toMatchObject({
      headers: { 'RateLimit-Remaining': {}, ETag: {} },
      content: {
        'text/plain; version=0.0.4; charset=utf-8': {
          schema: { type: 'string' },
          example: expect.stringContaining('antipode_monitor_up{'),
        },
      },
    });
  });

  it('lists the cookie svc_session, the bearer scheme and a validation failure with every operation', () => {
    for (const { entry } of entries) {
      expect(entry.parameters.filter(({ in: where }) => where === 'cookie')).toEqual([
        expect.objectContaining({ name: 'svc_session', required: false, schema: { anyOf: [{ type: 'string' }, { type: 'null' }] } }),
      ]);
      expect(entry.security).toEqual([{ HTTPBearer: [] }]);
      expect(responseIn(document, entry.responses['422'] ?? { $ref: 'missing' }).content).toMatchObject({
        'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' } },
      });
    }
  });

  it('gives every code that an operation may refuse with, under its status, with an example', () => {
    for (const operation of restOperations) {
      const { entry } = entries.find(({ entry }) => entry.operationId === operation.id) ?? {};
      const shown = JSON.stringify(Object.values(entry?.responses ?? {}).map((response) => responseIn(document, response)));
      for (const code of refusalsOf(operation)) expect(shown).toContain(`"code":"${code}"`);
    }
  });

  it('names its components as the clients of the service know them', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(
        'GroupIn GroupOut GroupPage GroupPatch HTTPValidationError IncidentOut IncidentPage MaintenanceOut MaintenancePage MeOut MonitorIn MonitorOut MonitorPage MonitorPatch OrganisationOut ProbeRef StatusOut UptimeOut ValidationError'.split(
          ' ',
        ),
      ),
    );
  });

  it('tells of every key of a config where a monitor is sent, and leaves the object free', () => {
    const { MonitorIn, MonitorOut, MonitorPatch } = document.components.schemas;
    const config = z.object({ properties: z.object({ config: z.looseObject({ description: z.string() }) }) });
    const [sent, told, changed] = [MonitorIn, MonitorOut, MonitorPatch].map((schema) => config.parse(schema).properties.config);
    for (const kind of kinds) {
      const part = sent?.description.split('Keys of ').find((words) => words.startsWith(`\`${kind}\`:`)) ?? '';
      expect([...part.matchAll(/^- `(\w+)`: /gm)].map(([, key]) => key)).toEqual(Object.keys(configKeys[kind]));
      for (const { meaning, allowed } of Object.values(configKeys[kind]))
        for (const words of [meaning, allowed]) expect(part).toContain(words);
    }
    expect(sent?.anyOf).toEqual([{ type: 'object', additionalProperties: true }, { type: 'null' }]);
    for (const other of [told, changed]) expect(other?.description).toContain('Every key stands at `config` of `MonitorIn`');
  });

  it('requires and defaults what the specification says', () => {
    const { MonitorIn, MonitorOut, MonitorPatch, GroupPage, StatusOut } = document.components.schemas;
    expect(MonitorIn?.required).toEqual(['type']);
    expect(MonitorIn?.properties).toMatchObject({
      target: { type: 'string', default: '' },
      interval_s: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      group: { anyOf: [{ type: 'string', format: 'uuid' }, { type: 'null' }] },
      affects_group_status: { type: 'boolean', default: true },
    });
    expect(MonitorOut?.required).toEqual(['id', 'name', 'type', 'target', 'interval_s', 'enabled', 'config', 'created_at']);
    expect(MonitorPatch?.required).toBeUndefined();
    expect(GroupPage?.required).toEqual(['items']);
    expect(StatusOut?.required).toEqual(['monitor', 'status', 'since', 'last_checked_at', 'enabled', 'uptime']);
  });
});
