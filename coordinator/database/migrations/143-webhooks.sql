-- Addresses of an organisation's own programs, which get its events as they come.
create table webhooks (
  key bigint generated always as identity unique,
  id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  description text not null,
  -- The part of the address that everyone in the organisation may read.
  host text not null,
  -- The address and the secrets that sign what is sent there, encrypted.
  secrets bytea not null,
  -- Empty: of every type, also of types to come.
  event_types text[] not null,
  enabled boolean not null,
  created_at timestamptz not null,
  last_delivered_at timestamptz,
  -- While nothing is accepted: since when, and when last.
  failing_since timestamptz,
  last_failed_at timestamptz,
  -- Why the service turned it off; null where a member did.
  disabled_because text check (disabled_because in ('gone', 'failing'))
);
create index webhooks_page on webhooks (organisation_id, key);

-- How far each has come in the list of events. Not in a backup, as events are not.
create table webhook_cursors (
  webhook_id uuid primary key references webhooks on delete cascade,
  written_by xid8 not null,
  event_key bigint not null,
  -- What it shows was written before the webhook began, and is not sent.
  begins pg_snapshot
);

-- One event for one webhook, from when the cursor passed it; the log once it is settled. Not in a backup either.
create table webhook_deliveries (
  key bigint generated always as identity primary key,
  id uuid not null unique default gen_random_uuid(),
  organisation_id uuid not null,
  webhook_id uuid not null references webhooks on delete cascade,
  event_key bigint not null,
  event_id uuid not null,
  event text not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed', 'cancelled')),
  created_at timestamptz not null,
  -- While it waits: when the next attempt is due, or the claim of a coordinator that is making one ends.
  next_at timestamptz not null,
  attempts integer not null default 0,
  -- Of the last attempt that was answered, or ended without an answer (class).
  attempted_at timestamptz,
  status integer,
  class text,
  took_ms integer,
  answer text,
  settled_at timestamptz,
  unique (webhook_id, event_key)
);
create index webhook_deliveries_page on webhook_deliveries (webhook_id, key);
create index webhook_deliveries_next on webhook_deliveries (webhook_id, next_at) where state = 'waiting';
create index webhook_deliveries_settled on webhook_deliveries (settled_at) where state <> 'waiting';
