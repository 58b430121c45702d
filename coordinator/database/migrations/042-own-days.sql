-- How well the house itself did, a row for each day that is over and settled: what the page about ourselves shows.
create table own_days (
  day date primary key,
  -- Outages that were confirmed as they happened, and from the first failing check to the commit that confirmed them.
  confirmed int not null,
  p50_ms int,
  p95_ms int,
  -- Of these, those that two continents saw and that others, which looked too, did not see within the hour.
  doubted int not null,
  results_lost bigint not null,
  -- Of our own parts: how often one was out, and for how long in all.
  own_outages int not null,
  own_outage_s int not null,
  counted_at timestamptz not null default now()
);

-- What probes had to drop, by the day on which they said so.
create table own_losses (day date primary key, results bigint not null);

-- The operator's word that a confirmed outage was none. It outlives the incident, whose day it counts for.
create table false_outages (
  incident_id uuid primary key,
  day date not null,
  said_at timestamptz not null default now()
);
