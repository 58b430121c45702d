-- How often the key of a place in the network (a continent, or one private probe; '*' stands for all) was taken out of use: the key is
-- derived with its place's epoch. A place without a row has epoch 1. Epochs are times in milliseconds, so that they also grow over a backup.
create table seal_epochs (place text primary key, epoch bigint not null);

-- What the operator asked to be worked on once more, and how often that was in vain.
alter table set_aside add column attempts int not null default 0, add column retry_asked_at timestamptz;

-- So that one sees whether a count still grows.
alter table refused add column last_at timestamptz not null default now();
