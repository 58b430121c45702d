-- Charts show the newest deploys of a window; events of other kinds are read by transaction.
create index events_deploys on events (organisation_id, at) where what = 'deploy';
