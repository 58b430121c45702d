-- Whether a channel wants warnings (rule 44): mail, chat and programs do, pagers and phones do not.
alter table channels add column warnings boolean not null default true;
update channels set warnings = false
where kind in ('pagerduty', 'incident_io', 'twilio_sms', 'web_push', 'ntfy', 'gotify', 'pushover');

-- What becomes of an alert of a warning at each channel that wants it.
create table warning_steps (
  id bigint generated always as identity primary key,
  alert_id bigint not null references warning_alerts on delete cascade,
  channel_id uuid not null references channels on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  -- held (hours, mute, maintenance) → told | dropped, and why it was.
  state text not null check (state in ('held', 'told', 'dropped')),
  because text,
  look_at timestamptz not null,
  message_id uuid references messages on delete set null,
  unique (alert_id, channel_id)
);
create index warning_steps_waiting on warning_steps (channel_id, look_at) where state = 'held';
create index warning_steps_message on warning_steps (message_id) where message_id is not null;
