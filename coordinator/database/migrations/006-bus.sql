-- Whether a coordinator has the bus: one that has not is no help to the others. Those of an earlier version do not say, and are taken to have it.
alter table coordinators add column has_bus boolean not null default true;
