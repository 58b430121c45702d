-- A window that repeats lasts as its local times say, also when the clock was changed in its first
-- occurrence. Null, as what older versions write: it lasts as its first occurrence did.
alter table maintenance_windows add column local_end timestamp;
update maintenance_windows set local_end = ends_at at time zone time_zone
where ends_at at time zone time_zone > local_start;
