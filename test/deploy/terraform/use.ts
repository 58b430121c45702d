import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../support/services.ts';
import { missing, type Service, startService } from './service.ts';
import { createWorkspace } from './workspace.ts';

const document = (path: string): string =>
  readFileSync(join(import.meta.dirname, '../../../deploy', path), 'utf8');

const blocksOf = (text: string): readonly string[] =>
  [...text.matchAll(/^```hcl\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

/** The example as it is in the README, data sources, and what goes wrong. */
describe.skipIf(missing !== undefined)('a user of the Terraform provider', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  }, 1_200_000);
  afterAll(() => service?.close());
  afterEach(async () => {
    service.workspace.write({});
    await service.workspace.apply();
  });

  /** What a refused apply says, without its frame. */
  const refusal = async (...given: readonly string[]): Promise<string> => {
    const [command = 'apply', ...rest] = given;
    const { code, out, err } = await service.workspace.tofu(
      command,
      ...(command === 'apply' ? ['-auto-approve'] : []),
      '-no-color',
      ...rest,
    );
    expect(code).toBe(1);
    return `${out}${err}`.replaceAll(/[│╷╵\s]+/g, ' ');
  };

  test('applies the example, and has nothing to do then', async () => {
    service.workspace.writeWords(document('terraform/example/main.tf'));
    await service.workspace.apply();
    expect(await service.workspace.plan()).toEqual({});
    const [page] = await service.all('status-pages');
    expect(page).toMatchObject({
      slug: 'shop',
      groups: [{ display_name: 'Web', position: 0 }],
      monitors: [
        { display_name: 'Checkout', position: 1 },
        { display_name: 'Backup', position: 2 },
      ],
    });
    const output = await service.workspace.tofu('output', '-raw', 'backup_address');
    expect(output.out).toMatch(/\/beat\/pk_[\w-]+\/shop\/backup$/);
    const plan = await service.workspace.tofu('show', '-no-color');
    expect(plan.out).toContain('bearer_token    = (sensitive value)');
  });

  test('accepts what the README and the documentation say', async () => {
    const [inReadme = ''] = blocksOf(document('terraform/README.md'));
    const [inDocs = ''] = blocksOf(document('../docs/monitors-as-code.md'));
    expect(inReadme).toContain('required_providers');
    for (const text of [inReadme, inReadme.replace(/^resource[\s\S]*?^}$/m, inDocs)]) {
      service.workspace.writeWords(text);
      expect(await service.workspace.tofu('validate', '-no-color')).toMatchObject({ code: 0 });
    }
  });

  test('finds what exists by its id, external id, name or slug', async () => {
    service.workspace.write(service.second);
    await service.workspace.apply();
    const by = (type: string, field: string, value: string) =>
      [type, { [`by_${field}`]: { [field]: value } }] as const;
    const idOf = async (address: string): Promise<string> =>
      String((await service.workspace.stateOf(address)).id);
    const data: readonly (readonly [string, Record<string, object>])[] = [
      by('antipode_group', 'external_id', 'shop/pages'),
      by('antipode_monitor', 'external_id', 'shop/https'),
      by('antipode_monitor', 'name', 'Also of dns'),
      by('antipode_channel', 'name', 'By slack'),
      by('antipode_maintenance_window', 'id', await idOf('antipode_maintenance_window.once')),
      by('antipode_status_page', 'slug', 'shop-status'),
      by('antipode_probe_invitation', 'name', 'Office 2'),
      by('antipode_ping_key', 'name', 'All jobs'),
    ];
    service.workspace.write(service.second, {
      data: Object.fromEntries(
        [...Map.groupBy(data, ([type]) => type)].map(([type, some]) => [
          type,
          Object.assign({}, ...some.map(([, named]) => named)),
        ]),
      ),
      output: Object.fromEntries(
        data.flatMap(([type, named]) =>
          Object.keys(named).map((name) => [
            `${type}_${name}`,
            { value: `\${data.${type}.${name}}`, sensitive: true },
          ]),
        ),
      ),
    });
    await service.workspace.apply();
    const { out } = await service.workspace.tofu('output', '-json');
    const outputs: unknown = JSON.parse(out);
    const found = (name: string): unknown => Object(outputs)[name]?.value;
    expect(found('antipode_group_by_external_id')).toMatchObject({
      name: 'Web pages',
      monitors: 9,
    });
    expect(found('antipode_monitor_by_external_id')).toMatchObject({
      type: 'https',
      status: 'paused',
      tags: ['eu', 'shop'],
      https: { method: 'POST', bearer_token: '***' },
      dns: null,
    });
    expect(found('antipode_monitor_by_name')).toMatchObject({ dns: { record_type: 'MX' } });
    expect(found('antipode_channel_by_name')).toMatchObject({
      kind: 'slack',
      hours: { zone: 'Europe/Berlin' },
      slack: { url: 'https://hooks.slack.com/***' },
    });
    expect(found('antipode_maintenance_window_by_id')).toMatchObject({ name: 'Once' });
    expect(found('antipode_status_page_by_slug')).toMatchObject({
      has_password: true,
      domain: 'status.shop.example',
      rows: [
        { group: expect.any(String), monitor: null, display_name: 'Web pages' },
        { group: null, monitor: expect.any(String), display_name: 'Checkout' },
      ],
    });
    expect(found('antipode_probe_invitation_by_name')).toMatchObject({ state: 'open' });
    expect(found('antipode_ping_key_by_name')).toMatchObject({ over: false });
  });

  test('is told what is wrong before anything is done', async () => {
    service.workspace.write({
      antipode_monitor: {
        none: { target: 'https://shop.example' },
        both: { target: 'https://shop.example', https: {}, dns: {} },
        brief: { target: 'https://shop.example', interval_s: 5, https: { method: 'LOOK' } },
      },
      antipode_channel: { some: { covers: 'some', email: { address: 'ops@shop.example' } } },
    });
    const said = await refusal('validate');
    expect(said).toContain('Give exactly one of https, dns, tcp,');
    expect(said).toContain('5 is less than 10.');
    expect(said).toContain('"LOOK" is none of GET, HEAD, POST,');
    expect(said).toContain('"some" is none of all, chosen.');
    service.workspace.write({}, { data: { antipode_monitor: { any: {} } } });
    expect(await refusal('validate')).toContain('Give exactly one of id, external_id, name.');
  });

  test('is told by the service at the attribute', async () => {
    service.workspace.write({
      antipode_group: { long: { name: 'x'.repeat(201) } },
      antipode_monitor: {
        body: { target: 'https://shop.example', https: { method: 'HEAD', body_contains: ['a'] } },
      },
      antipode_status_page: { a: { name: 'A', slug: 'a', rows: [{ group: 'shop' }] } },
    });
    const said = await refusal();
    expect(said).toContain('in resource.antipode_group.long');
    expect(said).toContain('(name_invalid)');
    expect(said).toMatch(/`body_contains` cannot be used: .*\(config_invalid\)/);
    expect(said).toMatch(/in resource\.antipode_status_page\.a\.rows\S* .*valid UUID/);
  });

  test('takes over nothing that is there, but by importing it', async () => {
    const { id }: { readonly id: string } = Object(
      await service.call('POST', 'groups', { name: 'There', external_id: 'there' }),
    );
    const there = `there is such a group already: There. To manage it here, import it: tofu import antipode_group.NAME ${id}`;
    service.workspace.write({ antipode_group: { web: { name: 'Web', external_id: 'there' } } });
    expect(await refusal()).toContain(there);
    service.workspace.write({ antipode_group: { web: { name: ' there' } } });
    expect(await refusal()).toContain(there);
    expect(await service.call('GET', `groups/${id}`)).toMatchObject({ name: 'There' });
    expect(await refusal('import', 'antipode_group.web', 'elsewhere')).toContain(
      'there is no group "elsewhere". Import one by its id or external id',
    );
    expect(await refusal('import', 'antipode_group.web', crypto.randomUUID())).toContain(
      'there is no group',
    );
    await service.call('DELETE', `groups/${id}`);
  });

  test('manages many of a kind, and notices what someone else did to one', async () => {
    const jobs = Array.from({ length: 30 }, (_, at) => `job-${at}`);
    service.workspace.write({
      antipode_monitor: {
        job: {
          for_each: Object.fromEntries(jobs.map((job) => [job, job])),
          // biome-ignore-start lint/suspicious/noTemplateCurlyInString: OpenTofu's templates.
          name: '${each.key}',
          external_id: 'jobs/${each.key}',
          // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above.
          heartbeat: {},
        },
      },
    });
    await service.workspace.apply();
    expect(await service.workspace.plan()).toEqual({});
    const [changed, deleted] = await service.all('monitors');
    await service.call('PATCH', `monitors/${changed?.id}`, { name: 'Another' });
    await service.call('DELETE', `monitors/${deleted?.id}`);
    expect(await service.workspace.plan()).toEqual({
      [`antipode_monitor.job["${String(changed?.name)}"]`]: 'update',
      [`antipode_monitor.job["${String(deleted?.name)}"]`]: 'create',
    });
    await service.workspace.apply();
    expect(await service.workspace.plan()).toEqual({});
    expect((await service.all('monitors')).map(({ name }) => name).toSorted()).toEqual(
      jobs.toSorted(),
    );
  });

  test('makes another object where its form is another one', async () => {
    const monitor = (form: object) => ({
      antipode_monitor: { shop: { name: 'Shop', target: 'shop.example:443', ...form } },
    });
    service.workspace.write(monitor({ tcp: {} }));
    await service.workspace.apply();
    service.workspace.write(monitor({ tls: {} }));
    expect(await service.workspace.plan()).toEqual({ 'antipode_monitor.shop': 'delete/create' });
    await service.workspace.apply();
    expect(await service.workspace.plan()).toEqual({});
    expect(await service.all('monitors')).toMatchObject([{ type: 'tls' }]);
  });

  test('is told when the service is not there, or not theirs', async () => {
    const saying = async (url: string, token: string): Promise<string> => {
      const { settings } = service.workspace;
      const own = await createWorkspace({ settings, remove: () => undefined }, { url, token });
      try {
        own.write({ antipode_group: { web: { name: 'Web' } } });
        const { code, out, err } = await own.tofu('apply', '-auto-approve', '-no-color');
        expect(code).toBe(1);
        return `${out}${err}`.replaceAll(/[│╷╵\s]+/g, ' ');
      } finally {
        own.remove();
      }
    };
    const { readWrite } = service.network.house.owner;
    expect(await saying(`http://127.0.0.1:${await freePort()}`, readWrite)).toMatch(
      /cannot be reached: .*connection refused/,
    );
    expect(await saying(service.url, 'svc_wrong')).toContain('(token_invalid)');
    expect(await saying(service.url, service.network.house.viewer.read)).toContain(
      '(scope_insufficient)',
    );
    expect(await saying(service.url, '')).toContain('Set ANTIPODE_TOKEN');
    expect(await saying('http://antipode.example', readWrite)).toContain(
      'must begin with https://',
    );
    expect(await saying('', readWrite)).toContain('Set url or ANTIPODE_URL');
  });
});
