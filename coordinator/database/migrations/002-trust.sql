-- How often the key of a place in the network (a continent, or one private probe) was taken out of use: it is derived with the place's
-- epoch. A place without a row has epoch 1. Epochs are times in milliseconds.
create table seal_epochs (place text primary key, epoch bigint not null);
-- No place's epoch is lower than this one. A restored database does not know what was taken out of use after its backup, so it gets the time of
-- its restoration.
alter table installation add column seal_epoch bigint not null default 1;

-- What the operator asked to be worked on once more, and how often that was in vain.
alter table set_aside add column attempts int not null default 0, add column retry_asked_at timestamptz;

-- So that one sees whether a count still grows.
alter table refused add column last_at timestamptz not null default now();
