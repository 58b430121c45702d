-- How far hourly rollups were deleted because rows of days have their figures (coordinator/results/days.ts): up to this row.
create table dropped_rollups (
  only_row boolean primary key default true check (only_row),
  day date not null,
  monitor_key bigint not null
);
