-- Which objects each configuration file manages, by their keys in it. No reference to the objects: they live in five tables, and a deleted monitor
-- leaves its own for a week. What no longer exists is not managed.
create table file_objects (
  organisation_id uuid not null references organisations on delete cascade,
  file text not null,
  kind text not null,
  key text not null,
  object_id uuid not null,
  primary key (organisation_id, file, kind, key)
);
-- One file at most manages an object.
create unique index file_objects_of on file_objects (organisation_id, object_id);
