import { setTimeout as pause } from 'node:timers/promises';
import { toldAs } from '../../../coordinator/core/warnings.ts';
import type { Sql } from '../../../coordinator/database/connect.ts';
import type { CauseParams } from '../../../shared/checks/result.ts';
import type { Chance } from '../../simulation/story.ts';
import { mint } from '../../support/certificates.ts';
import { startTarget } from '../../support/targets.ts';
import { planOutages } from './truth.ts';

/**
 * What passes and is warned of (rule 44): a certificate that always ends soon, and domains whose end
 * comes near and is far again. What their registry said is written into the database, where the
 * coordinators keep it.
 */

const day = 86_400_000;
/** A check that began before the end moved may have been answered after it. */
const checkMs = 3_000;

type WarnedPlace = {
  readonly place: string;
  readonly type: 'tls' | 'domain';
  readonly target: string;
  readonly config: Readonly<Record<string, boolean>>;
};

/** When a place may have been warned of: what was written while the database fell is doubtful. */
type Period = { readonly place: string; readonly from: number; readonly until: number };

export type WarnedPlaces = {
  readonly places: readonly WarnedPlace[];
  readonly periods: () => readonly Period[];
  readonly turn: (now: number) => void;
  /** From now on no domain ends soon; settles when the database knows. */
  readonly heal: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const certificatePlace = 'certificate';

export const createWarnedPlaces = async (chance: Chance, sql: Sql): Promise<WarnedPlaces> => {
  const began = Date.now();
  const to = began + 5.5 * day;
  const target = await startTarget({
    certificate: mint({ names: ['localhost'], from: new Date(began - 85 * day), to: new Date(to) }),
  });
  const plan = planOutages(
    chance,
    (['steady', 'failing', 'failing'] as const).map((role, index) => ({
      place: `ends-${index}.com`,
      role,
      lonely: 'Europe',
    })),
    began,
  );
  const domains = plan.places.map(({ place }) => place);
  const periods: { readonly place: string; readonly from: number; until: number }[] = [];
  const written = new Map<string, boolean>();
  const writing = new Map<string, Promise<void>>();

  const write = async (domain: string, isNear: boolean): Promise<void> => {
    if (isNear) periods.push({ place: domain, from: Date.now(), until: Number.POSITIVE_INFINITY });
    const asked_at = Date.now();
    const ends_at = began + (isNear ? 5.5 : 300) * day;
    const answer = {
      is: 'registered',
      ends_at,
      statuses: [],
      registrar: null,
      server: 'rdap.example',
      asked_at,
    };
    for (;;) {
      try {
        await sql`
          insert into registrations (domain, answer, asked_at)
          values (${domain}, ${JSON.stringify(answer)}::text::jsonb, ${new Date(asked_at)})
          on conflict (domain) do update set answer = excluded.answer, asked_at = excluded.asked_at`;
        break;
      } catch {
        await pause(200); // The database is away, as it should be now and then.
      }
    }
    const open = periods.findLast((one) => one.place === domain);
    if (!isNear && open) open.until = Date.now();
  };
  /** One write of a domain at a time, until what is written is what is planned. */
  const follow = async (domain: string): Promise<void> => {
    for (;;) {
      const isNear = plan.isWell(domain) === false;
      if (written.get(domain) === isNear) return;
      await write(domain, isNear);
      written.set(domain, isNear);
    }
  };
  const followAll = async (): Promise<void> => {
    await Promise.all(
      domains.map((domain) => {
        const busy = writing.get(domain) ?? follow(domain).finally(() => writing.delete(domain));
        writing.set(domain, busy);
        return busy;
      }),
    );
  };
  await followAll();
  return {
    places: [
      {
        place: certificatePlace,
        type: 'tls',
        target: `127.0.0.1:${target.port}`,
        config: { verify_tls: false },
      },
      ...domains.map(
        (place): WarnedPlace => ({ place, type: 'domain', target: place, config: {} }),
      ),
    ],
    periods: () => periods,
    turn: (now) => {
      plan.turn(now);
      void followAll();
    },
    heal: async () => {
      plan.heal(Date.now());
      await followAll();
      await followAll();
    },
    close: target.close,
  };
};

/** A stored warning, with all that was to be told of it. */
export type StoredWarning = {
  readonly place: string;
  readonly code: string;
  readonly began_at: number;
  readonly ended_at: number | null;
  readonly alerts: readonly { readonly event: string; readonly details: CauseParams }[];
};

export const readWarnings = async (
  sql: Sql,
  organisation: string,
  placeOf: (monitor: string) => string | undefined,
): Promise<StoredWarning[]> => {
  const rows = await sql<
    (Omit<StoredWarning, 'place' | 'began_at' | 'ended_at'> & {
      readonly monitor: string;
      readonly began_at: number;
      readonly ended_at: number | null;
    })[]
  >`
    select w.monitor_id as monitor, w.code, w.began_at, w.ended_at, (
      select coalesce(jsonb_agg(jsonb_build_object('event', a.event, 'details', a.details)
        order by a.id), '[]')
      from alerts a where a.warning_id = w.id) as alerts
    from warnings w where w.organisation_id = ${organisation} order by w.began_at`;
  return rows.map(({ monitor, began_at, ended_at, ...rest }) => ({
    ...rest,
    place: placeOf(monitor) ?? monitor,
    began_at,
    ended_at,
  }));
};

/** What is wrong with the warnings that are stored, once all is healed. Pure. */
export const misjudgedWarnings = (
  warnings: readonly StoredWarning[],
  periods: readonly Period[],
): string[] => {
  const faults: string[] = [];
  const ofCertificate = warnings.filter(({ place }) => place === certificatePlace);
  if (ofCertificate.length !== 1 || ofCertificate[0]?.ended_at !== null)
    faults.push(`${certificatePlace} has ${ofCertificate.length} warnings, and not one that lasts`);
  for (const { place, code, began_at, ended_at, alerts } of warnings) {
    const which = `${place}: ${code} since ${new Date(began_at).toISOString()}`;
    const told = alerts
      .filter(({ event }) => event === 'warning')
      .map((one) => toldAs(one.details));
    const ends = alerts.length - told.length;
    if (told.length === 0 || new Set(told).size < told.length)
      faults.push(`${which} is told as ${told.join(', ')}, and not each once`);
    if (ends !== (ended_at === null ? 0 : 1))
      faults.push(`${which} has ${ends} ends that are told`);
    if (place === certificatePlace) continue;
    if (
      !periods.some(
        ({ place: of, from, until }) =>
          of === place && began_at >= from - checkMs && began_at <= until + checkMs,
      )
    )
      faults.push(`${which} began when nothing ended soon`);
    if (ended_at === null) faults.push(`${which} does not end`);
    const over = warnings.find(
      (other) =>
        other.place === place && other.began_at > began_at && other.began_at < (ended_at ?? 0),
    );
    if (over) faults.push(`${which} lasts beyond the beginning of another`);
  }
  return faults;
};
