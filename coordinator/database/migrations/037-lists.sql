-- Programs list monitors by status, name and newest change, by type and group: each list is read from its own index, and goes on after the row
-- that it gave last, so each ends with the running number.
create index monitor_status_page on monitor_status (organisation_id, status, monitor_key);
create index monitor_status_names on monitor_status (organisation_id, name_folded, monitor_key);
create index monitor_status_changes on monitor_status (organisation_id, since, monitor_key);
drop index monitor_status_status;
drop index monitor_status_name;
drop index monitor_status_since;

create index monitors_type on monitors (organisation_id, type, key);
create index monitors_of_group on monitors (group_id, key) where group_id is not null;
drop index monitors_group;
