-- How far rows of results were put into chunks (coordinator/results/conversion.ts): days up to this one, and of it the monitors up to this key.
create table converted_results (
  only_row boolean primary key default true check (only_row),
  day date not null,
  monitor_key bigint not null
);
