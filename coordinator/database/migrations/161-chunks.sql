-- The checks of a monitor and an hour (or a quarter of one) in one value: coordinator/results/chunk.ts says what it holds.
-- Days are made ahead and dropped whole, as those of results are.
create table chunks (
  monitor_key bigint not null,
  at timestamptz not null,
  data bytea not null,
  primary key (monitor_key, at)
) partition by range (at);
-- Chunks are short, and never compressed: they hold nothing that repeats.
alter table chunks alter column data set storage external;
