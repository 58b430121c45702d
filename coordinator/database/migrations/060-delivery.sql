-- Since when a channel gathers what leaves together, and when the newest of it came (rule 32).
alter table channels add column gathering_since timestamptz, add column gathered_at timestamptz;

-- Where its messages go, so that what goes to one host cannot take all places of those on their way. Null: it has a share of its own.
alter table channels add column host text;

-- What was told is forgotten after its time, the oldest first.
create index messages_by_age on messages (created_at);
create index alert_steps_by_age on alert_steps (created_at);
create index alerts_by_age on alerts (created_at);
create index mails_by_age on mails (created_at);
create index last_resorts_by_age on last_resorts (at);
create index mutes_by_age on mutes (until);
create index channel_tests_by_age on channel_tests (at);
create index channels_by_end on channels (deleted_at) where deleted_at is not null;
