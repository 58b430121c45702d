-- Who is told, how and by what (rules 30 to 40). An event of an incident stays one row in `alerts`, whoever hears of it; once it is due it becomes
-- a step for each channel that covers the monitor, and steps that are due together leave as one message.

create table channels (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null references organisations on delete cascade,
  -- Whose it is: one person's, or null: the organisation's. It goes with the membership.
  user_id uuid,
  kind text not null,
  name text not null,
  -- The values of its fields, with "***" where a secret stands; the secrets themselves are in `secrets`, encrypted as a monitor's.
  config jsonb not null default '{}',
  secrets bytea,
  enabled boolean not null default true,
  -- A mailbox is told of nothing before its owner said that it is theirs.
  verified_at timestamptz,
  verification bytea unique,
  verification_until timestamptz,
  unsubscribed_at timestamptz,
  covers text not null default 'all' check (covers in ('all', 'chosen')),
  delay_s int not null default 0 check (delay_s between 0 and 86400),
  reminder_s int check (reminder_s between 60 and 86400),
  -- {"zone": …, "spans": [{"days": [1, …], "from": "09:00", "to": "17:00"}]}; null: at any hour.
  hours jsonb,
  created_at timestamptz not null default now(),
  -- Kept for the stories of its messages, without what it was reached by.
  deleted_at timestamptz,
  -- When its bucket is full again (rule 32).
  bucket_full_at timestamptz not null default 'epoch',
  failing_since timestamptz,
  refused_at timestamptz,
  failure text,
  owners_told_at timestamptz,
  last_taken_at timestamptz,
  foreign key (organisation_id, user_id) references memberships (organisation_id, user_id) on delete cascade
);
create index channels_page on channels (organisation_id, key) where deleted_at is null;
create index channels_failing on channels (id) where deleted_at is null and (failing_since is not null or refused_at is not null);

create table channel_monitors (
  channel_id uuid not null references channels on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  primary key (channel_id, monitor_id)
);
create index channel_monitors_monitor on channel_monitors (monitor_id);

create table channel_groups (
  channel_id uuid not null references channels on delete cascade,
  group_id uuid not null references groups on delete cascade,
  primary key (channel_id, group_id)
);
create index channel_groups_group on channel_groups (group_id);

-- What leaves: once taken, for good. Its id is the idempotency key of every attempt.
create table messages (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  event text not null,
  -- The message that began the talk: a "down", or itself.
  thread_id uuid not null,
  -- What it says, the same with every attempt; but for links, which are signed anew.
  told jsonb not null,
  -- waiting → taken | refused | given_up | overtaken (all that it told was over before it was taken)
  state text not null check (state in ('waiting', 'taken', 'refused', 'given_up', 'overtaken')),
  due_at timestamptz not null,
  created_at timestamptz not null,
  attempts int not null default 0,
  -- When it is to be tried next; whoever tries it moves this ahead, so that no other does meanwhile.
  next_at timestamptz not null,
  claimed_until timestamptz,
  settled_at timestamptz,
  -- What the receiver calls it, and our words for what it answered.
  reference text,
  words text
);
create index messages_waiting on messages (next_at) where state = 'waiting';
create index messages_page on messages (channel_id, key);
create index messages_thread on messages (thread_id);

create table message_attempts (
  message_id uuid not null references messages on delete cascade,
  attempt int not null,
  at timestamptz not null,
  took_ms int not null,
  -- What was answered: a status, or a class of our own where there was none; never what a stranger's server said.
  status int,
  class text not null,
  verdict text not null check (verdict in ('taken', 'retry', 'refused')),
  words text,
  primary key (message_id, attempt)
);

-- One event of one incident for one channel. held → told (in a message) | dropped | merged (its incident ended before it was taken).
create table alert_steps (
  id bigint generated always as identity primary key,
  organisation_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  monitor_id uuid not null,
  incident_id uuid not null,
  event text not null check (event in ('down', 'up', 'was_down', 'closed', 'reminder', 'acknowledged', 'flapping')),
  seq int not null default 0,
  state text not null check (state in ('held', 'told', 'dropped', 'merged')),
  -- When the event became due, whatever holds it here.
  due_at timestamptz not null,
  -- When it is to be looked at next, and what held it so far: [[by, from, until], …], times in milliseconds.
  look_at timestamptz not null,
  holds jsonb not null default '[]',
  -- What the monitor was doing: of a "down" how it is told (rule 37), of an "up" whether it waits until the monitor was steady.
  flapping text not null default 'plain' check (flapping in ('plain', 'flapping', 'silent')),
  -- Why it was dropped.
  because text,
  message_id uuid references messages on delete set null,
  -- When it first left, whatever became of that message.
  first_told_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (incident_id, channel_id, event, seq)
);
create index alert_steps_waiting on alert_steps (look_at) where state = 'held';
create index alert_steps_channel on alert_steps (channel_id) where state = 'held';
create index alert_steps_message on alert_steps (message_id) where message_id is not null;
create index alert_steps_monitor on alert_steps (monitor_id, due_at);

-- A "down" that no channel took in time, and the owners who were mailed of it (rule 38).
create table last_resorts (
  incident_id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  at timestamptz not null,
  mailed text[] not null
);
alter table organisations add column last_resort_full_at timestamptz not null default 'epoch';

alter table incidents add column acknowledged_at timestamptz, add column acknowledged_by uuid references users on delete set null,
  -- In words: a person's name, or the channel whose link was followed.
  add column acknowledged_as text;

-- Everything is quiet until then (rule 36). Kept for the stories of what it held.
create table mutes (
  id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  began_at timestamptz not null,
  until timestamptz not null,
  -- When somebody ended it before its time.
  ended_at timestamptz,
  muted_by uuid references users on delete set null
);
create index mutes_organisation on mutes (organisation_id, until);

-- Addresses that want no more mail of an organisation's alerts.
create table suppressions (
  organisation_id uuid not null references organisations on delete cascade,
  address text not null,
  at timestamptz not null,
  primary key (organisation_id, address)
);

-- Tests of channels, so that there are ten an hour at most.
create table channel_tests (
  organisation_id uuid not null references organisations on delete cascade,
  at timestamptz not null
);
create index channel_tests_recent on channel_tests (organisation_id, at);

-- A due event becomes steps once. What was told to nobody before there were channels is told to nobody now.
alter table alerts add column planned_at timestamptz;
update alerts set planned_at = now(), state = case when state = 'held' then 'dropped' else 'sent' end, settled_at = coalesce(settled_at, now())
  where state in ('held', 'due');
drop index alerts_waiting;
create index alerts_waiting on alerts (due_at) where state = 'held';
create index alerts_planning on alerts (id) where state = 'due' and planned_at is null;

-- Wakes whoever tells, with the commit that gives it something to do.
create function tell_alerts() returns trigger language plpgsql as $$
begin
  perform pg_notify('alerts', tg_table_name);
  return null;
end $$;
create trigger alerts_insert after insert on alerts for each statement execute function tell_alerts();
create trigger alerts_update after update of state on alerts for each statement execute function tell_alerts();
create trigger alerts_insert after insert on alert_steps for each statement execute function tell_alerts();
create trigger alerts_update after update of look_at on alert_steps for each statement execute function tell_alerts();

create trigger changed_insert after insert on channels referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on channels referencing new table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on messages referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on messages referencing new table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on mutes referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on mutes referencing new table as rows for each statement execute function tell_changed();

-- Nobody has to build a rule before the first alert can reach somebody (rule 30): the oldest owner with a proven mailbox.
insert into channels (id, organisation_id, user_id, kind, name, config, verified_at)
select distinct on (m.organisation_id) gen_random_uuid(), m.organisation_id, null, 'email', u.email, jsonb_build_object('address', u.email), now()
from memberships m join users u on u.id = m.user_id
where m.role = 'owner' and u.email_verified_at is not null
order by m.organisation_id, m.created_at, u.id;
