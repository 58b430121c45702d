-- Lists of monitors that a user named, by the address that shows them; they stand in the navigation of that user alone.
create table views (
  user_id uuid not null references users on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  name_folded text not null,
  -- The query of the dashboard's address, without its question mark.
  query text not null,
  primary key (user_id, organisation_id, name_folded)
);
create index views_organisation on views (organisation_id);
