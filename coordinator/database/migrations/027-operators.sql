-- Who may see the operator's page, and what that page lists by name. Only the operator's command marks somebody.
alter table users add column is_operator boolean not null default false;
create index organisations_by_name on organisations (lower(name), key);
