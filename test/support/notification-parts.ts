/**
 * For test files: the parts that notify, on a database of their own, with a clock that is
 * moved by hand and a receiver that answers as it is told.
 */

import { createCauseFinder } from '../../coordinator/causes/finder.ts';
import type { Sql } from '../../coordinator/database/connect.ts';
import { createSending } from '../../coordinator/deliveries/sending.ts';
import { alertKind } from '../../coordinator/notifications/alert-sending.ts';
import { wakeSteps } from '../../coordinator/notifications/causes.ts';
import { createComposer } from '../../coordinator/notifications/compose.ts';
import { kindOf as kindOfProduct } from '../../coordinator/notifications/kinds/index.ts';
import type {
  ChannelKind,
  Outgoing,
  SendOutcome,
} from '../../coordinator/notifications/kinds/types.ts';
import { webhook } from '../../coordinator/notifications/kinds/webhook.ts';
import { createOwnerFallback } from '../../coordinator/notifications/last-resort.ts';
import { createPlanner } from '../../coordinator/notifications/plan.ts';
import type { Check } from '../../coordinator/results/check.ts';
import { createResults, noUnsealedHours } from '../../coordinator/results/reading.ts';
import { newId } from '../../shared/base/crypto.ts';
import { eventually } from './eventually.ts';
import { testLog } from './network.ts';

export const answered = (status: number): SendOutcome => ({
  is: 'answer',
  status,
  headers: {},
  body: '',
});

/** People, to whom things are told together (rule 32), in a form that a test can read. */
const readablePeople = 'readable_people';
const kindOf = (id: string): ChannelKind | undefined =>
  id === readablePeople ? { ...webhook, id, gathers: true } : kindOfProduct(id);

type ChannelChanges = {
  readonly user_id?: string;
  readonly covers?: 'all' | 'chosen';
  readonly delay_s?: number;
  readonly reminder_s?: number;
  readonly enabled?: boolean;
  readonly hours?: unknown;
  readonly kind?: string;
};

/** Hours of each day, in which a channel is open. */
export const daily = (from: string, to: string) => ({
  zone: 'UTC',
  spans: [{ days: [1, 2, 3, 4, 5, 6, 7], from, to }],
});

type Heard = {
  readonly key: string;
  readonly url: string;
  readonly event: string;
  readonly sentence: string;
  readonly names: readonly string[];
};

export const notificationBench = async (sql: Sql) => {
  const state = { now: Date.UTC(2026, 10, 23, 12), asked: [] as string[] };
  const clock = { now: () => state.now };
  const log = testLog();
  const organisation = newId();
  await sql`insert into organisations (id, name, plan, time_zone) values (${organisation}, ${`house ${organisation}`}, 'team', 'UTC')`;
  const sent: Outgoing[] = [];
  const answers: { of: (outgoing: Outgoing) => SendOutcome | Promise<SendOutcome> } = {
    of: () => answered(204),
  };
  const checks = new Map<number, readonly Check[]>();
  const results = createResults({
    unsealed: {
      ...noUnsealedHours,
      checksOf: (_partition, monitor, from, to) =>
        (checks.get(monitor) ?? []).filter(({ at }) => from <= at && at < to),
    },
    log,
  });
  const coordinator = (place = newId(), sqlOfCourier = sql) => {
    const kind = alertKind({
      clock,
      log,
      kindOf,
      send: async (outgoing) => {
        sent.push(outgoing);
        return answers.of(outgoing);
      },
      openSecrets: async () => ({
        key: 'R'.repeat(32),
        token: 'T'.repeat(32),
        secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
      }),
      linksOf: async ({ id }) => ({
        incident: '',
        acknowledge: null,
        acknowledge_short: null,
        why: `why/${id}`,
        channel: '',
        unsubscribe: null,
      }),
    });
    const courier = createSending(kind, { place, sql: sqlOfCourier, clock, log });
    const causes = createCauseFinder({
      ...{ sql, clock, isLeader: () => true, ask: (monitors) => state.asked.push(...monitors) },
      onReviewed: wakeSteps,
    });
    const planner = createPlanner({ sql, clock, log, kindOf, judge: causes.judge });
    const composer = createComposer({ sql, clock, kindOf, results });
    return {
      kind,
      courier,
      planner,
      composer,
      causes,
      rescue: createOwnerFallback({ sql, clock, log, hasMail: true }),
    };
  };
  const here = coordinator();
  const settled = () =>
    eventually(
      async () =>
        (await sql`select 1 from deliveries where claimed_until is not null and state = 'waiting'`)
          .length === 0,
    );
  return {
    sql,
    organisation,
    sent,
    answers,
    coordinator,
    kind: here.kind,
    get now() {
      return state.now;
    },
    set now(value: number) {
      state.now = value;
    },
    channel: async (name: string, changes: ChannelChanges = {}): Promise<string> => {
      const id = newId();
      const {
        user_id = null,
        covers = 'all',
        delay_s = 0,
        reminder_s = null,
        enabled = true,
        hours = null,
        kind = readablePeople,
      } = changes;
      await sql`insert into channels (id, organisation_id, user_id, kind, name, config, secrets, covers, delay_s, reminder_s, enabled, hours, verified_at)
        values (${id}, ${organisation}, ${user_id}, ${kind}, ${name}, ${JSON.stringify({ url: `https://${name}.test/` })}::text::jsonb,
          ${Buffer.alloc(1)}, ${covers}, ${delay_s}, ${reminder_s}, ${enabled}, ${hours === null ? null : JSON.stringify(hours)}::text::jsonb, now())`;
      return id;
    },
    monitor: async (name: string, group: string | null = null): Promise<string> => {
      const id = newId();
      await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
        values (${id}, ${organisation}, 3, ${name}, 'https', 'https://shop.example', 60, ${group})`;
      return id;
    },
    /** A check of it that began now. */
    checked: async (monitor: string, outcome: Check['outcome']): Promise<void> => {
      const [row] = await sql<{ key: number }[]>`select key from monitors where id = ${monitor}`;
      const check = { probe: 1, at: state.now, took_ms: 9, outcome, cause: null, phases: null };
      const key = row?.key ?? 0;
      checks.set(key, [...(checks.get(key) ?? []), check]);
    },
    /** The monitor goes down now, and its "down" is due. */
    down: async (monitor: string): Promise<string> => {
      const id = newId();
      const at = new Date(state.now);
      await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent, seen_probe, cause)
        values (${id}, ${organisation}, ${monitor}, ${at}, ${at}, 'Europe', 'Frankfurt', '{"class": "heartbeat_late", "params": {}}')`;
      await sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
        values (${organisation}, ${monitor}, ${id}, 'down', 'due', ${at})`;
      return id;
    },
    /** What becomes known now, and was over so long ago. */
    wasDown: async (
      monitor: string,
      { from_ms, for_ms }: { readonly from_ms: number; readonly for_ms: number },
    ): Promise<string> => {
      const id = newId();
      const [from, to] = [new Date(state.now - from_ms), new Date(state.now - from_ms + for_ms)];
      await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_continent, seen_probe, cause)
        values (${id}, ${organisation}, ${monitor}, ${from}, ${from}, ${to}, 'Europe', 'Frankfurt', '{"class": "heartbeat_late", "params": {}}')`;
      await sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
        values (${organisation}, ${monitor}, ${id}, 'was_down', 'due', ${from})`;
      return id;
    },
    up: async (incident: string): Promise<void> => {
      const at = new Date(state.now);
      await sql`update incidents set resolved_at = ${at} where id = ${incident}`;
      await sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
        select organisation_id, monitor_id, id, 'up', 'due', ${at} from incidents where id = ${incident}`;
    },
    /** A warning of a monitor begins now, or one that began becomes more urgent. */
    warn: async (
      monitor: string,
      details: { readonly [name: string]: string | number } = { took_ms: 3_000, limit_ms: 2_000 },
      known?: string,
    ): Promise<string> => {
      const id = known ?? newId();
      const [at, json] = [new Date(state.now), JSON.stringify(details)];
      const code = details.ends_at === undefined ? 'slow' : 'certificate_expires';
      await sql`insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at)
        values (${id}, ${organisation}, ${monitor}, ${code}, ${json}::text::jsonb, ${at}, ${at})
        on conflict (id) do update set details = excluded.details`;
      await sql`insert into alerts (organisation_id, monitor_id, warning_id, event, details, created_at, state)
        values (${organisation}, ${monitor}, ${id}, 'warning', ${json}::text::jsonb, ${at}, 'due')`;
      return id;
    },
    endWarning: async (warning: string): Promise<void> => {
      const at = new Date(state.now);
      await sql`update warnings set ended_at = ${at} where id = ${warning}`;
      await sql`insert into alerts (organisation_id, monitor_id, warning_id, event, details, created_at, state)
        select organisation_id, monitor_id, id, 'warning_over', details, ${at}, 'due' from warnings where id = ${warning}`;
    },
    /** All that is due now is told, and answered. */
    tell: async (by = here): Promise<void> => {
      while (await by.planner.plan());
      while (await by.composer.compose());
      await by.courier.hurry();
      await settled();
    },
    rescue: () => here.rescue.tick(),
    /** What the leader does for causes. */
    reviewCauses: () => here.causes.tick(),
    asked: state.asked,
    settled,
    /** What receivers were sent, by their address. */
    heard: (name: string): Heard[] =>
      sent.flatMap((outgoing) => {
        if (outgoing.by !== 'https' || outgoing.url !== `https://${name}.test/`) return [];
        const { type, data } = JSON.parse(outgoing.body);
        const names = [...data.incidents, ...(data.warnings ?? [])].map(
          ({ monitor }: { monitor: { name: string } }) => monitor.name,
        );
        return [
          {
            key: outgoing.headers['webhook-id'] ?? '',
            url: outgoing.url,
            event: type,
            sentence: data.sentence,
            names,
          },
        ];
      }),
  };
};
