import { newId } from '../../../shared/base/crypto.ts';
import { createNetwork, type Network } from '../../support/network.ts';
import { openReceiver, says } from '../../support/receivers.ts';
import { startServices } from '../../support/services-run.ts';
import { startMeasured } from '../ingest/coordinator.ts';

/**
 * A coordinator as a process, organisations with channels and monitors, and receivers on loopback
 * that note when they took what.
 */

export type Group = {
  readonly organisation: string;
  readonly channels: readonly string[];
  /** With the channels that are told of each. */
  readonly monitors: readonly { readonly id: string; readonly channels: readonly string[] }[];
};

export type Rig = {
  readonly sql: Network['sql'];
  /** By the key of the message, when it was accepted. */
  readonly accepted: ReadonlyMap<string, number>;
  /**
   * The first channel of a group that is `slow` hangs. `each`: so many channels hear of a monitor.
   */
  readonly addGroup: (wanted: {
    readonly channels: number;
    readonly monitors: number;
    readonly each: number;
    readonly slow?: boolean;
    /** Whether people read the channels, to whom things are told together (rule 32). */
    readonly people?: boolean;
  }) => Promise<Group>;
  /** These go down now, all in one transaction, and their "down" is due. */
  readonly down: (monitors: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Receivers, each a host of its own; what is slow shares its host with others. */
const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'] as const;
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export const startRig = async (say: (progress: string) => void): Promise<Rig> => {
  const ends: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    say('database and bus');
    const { services, stop } = await startServices();
    ends.push(stop);
    const network = await createNetwork({ services });
    ends.push(network.close);
    const { sql } = network;
    const accepted = new Map<string, number>();
    const receivers = await Promise.all(hosts.map((host) => openReceiver({ host })));
    for (const receiver of receivers) {
      ends.push(receiver.close);
      receiver.answer((response, got) => {
        if (got.path.startsWith('/slow')) return; // It hangs until it is given up.
        says(204)(response, got);
        const key = String(got.headers['webhook-id']);
        if (!accepted.has(key)) accepted.set(key, Date.now());
      });
    }
    say('a coordinator');
    const coordinator = await startMeasured(network.environment);
    ends.push(coordinator.stop);
    await coordinator.atWork;

    const addGroup: Rig['addGroup'] = async ({
      channels: many,
      monitors: count,
      each,
      slow = false,
      people = false,
    }) => {
      const organisation = newId();
      await sql`insert into organisations (id, name, plan, time_zone) values (${organisation}, ${organisation}, 'self_hosted', 'UTC')`;
      const rows = Array.from({ length: many }, (_, index) => {
        const receiver = receivers[index % receivers.length]?.url ?? '';
        const path = slow && index === 0 ? '/slow' : `/quick/${index}`;
        return {
          id: newId(),
          name: `channel ${index}`,
          config: { url: `${receiver}${path}`, secret },
        };
      });
      await sql`insert into channels (id, organisation_id, kind, name, config, covers, verified_at)
        select id, ${organisation}, ${people ? 'mattermost' : 'webhook'}, name, config, 'chosen', now()
        from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, name text, config jsonb)`;
      const channels = rows.map(({ id }) => id);
      const monitors = Array.from({ length: count }, (_, index) => ({
        id: newId(),
        channels: Array.from({ length: each }, (__, nth) => channels[(index + nth) % many] ?? ''),
      }));
      await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, enabled, paused_at)
        select id, ${organisation}, 3, 'Monitor ' || right(id::text, 6), 'https', 'https://shop.example', 60, false, now()
        from json_to_recordset(${JSON.stringify(monitors)}::text::json) as m (id uuid)`;
      await sql`insert into channel_choices (channel_id, monitor_id)
        select c::uuid, m.id from json_to_recordset(${JSON.stringify(monitors)}::text::json) as m (id uuid, channels json),
          json_array_elements_text(m.channels) c`;
      return { organisation, channels, monitors };
    };

    const down: Rig['down'] = async (monitors) => {
      const rows = JSON.stringify(monitors.map((monitor) => ({ monitor, incident: newId() })));
      const at = new Date();
      await sql.begin(async (transaction) => {
        await transaction`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent, seen_probe, cause)
          select d.incident, m.organisation_id, m.id, ${at}, ${at}, 'Europe', 'Frankfurt', '{"class": "heartbeat_late", "params": {}}'
          from json_to_recordset(${rows}::text::json) as d (monitor uuid, incident uuid) join monitors m on m.id = d.monitor`;
        await transaction`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
          select m.organisation_id, m.id, d.incident, 'down', 'due', ${at}
          from json_to_recordset(${rows}::text::json) as d (monitor uuid, incident uuid) join monitors m on m.id = d.monitor`;
      });
    };
    return { sql, accepted, addGroup, down, close };
  } catch (error) {
    await close();
    throw error;
  }
};
