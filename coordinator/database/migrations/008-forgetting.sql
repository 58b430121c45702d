-- What is over is deleted by its time, and found by it. Rollups lie in the order of their hours, so that a mark for each stretch of them is enough.
create index rollups_by_hour on rollups using brin (hour);
create index ledger_by_end on ledger (ended_at) where ended_at is not null;
create index outbox_by_end on outbox (done_at) where done_at is not null;
