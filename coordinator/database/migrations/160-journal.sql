-- Batches of results as they came, packed (coordinator/results/packing.ts), until their checks are in chunks. Hours are made ahead and dropped whole.
create sequence journal_ids;
create table journal (
  hour timestamptz not null, -- of arrival
  partition smallint not null,
  -- A partition has one writer, so its ids are in order of commit.
  id bigint not null default nextval('journal_ids'),
  probe_key int not null,
  data bytea not null,
  signature bytea, -- 64 bytes for each
  -- What it is over, when several batches share it: 32 bytes for each. With the first of them that was committed.
  digests bytea
) partition by range (hour);
alter sequence journal_ids owned by journal.id;
alter table journal alter column data set storage external;
create index journal_partition on journal (partition, id);

-- What of a partition arrived before is in chunks.
create table sealed_hours (
  partition smallint primary key,
  until timestamptz not null
);
insert into sealed_hours (partition, until) select n, 'epoch' from generate_series(0, 31) n;

-- Whether it reads and writes the journal: all must, before results are written there.
alter table coordinators add column keeps_journal boolean not null default false;
