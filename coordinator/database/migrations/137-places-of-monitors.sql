-- From where a monitor is checked, resolved from its config: a continent's name ("Europe": any public probe there), a region of
-- one ("Europe/Frankfurt": its public probes), or the id of a private place of its organisation. Null: as its config's
-- `continents` and `probe` say.
alter table monitors add column places text[];
