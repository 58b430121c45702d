-- A dashboard shows the hourly means of the last day of fifty monitors: a few thousand rows, and each hour of a monitor lies in another piece of the
-- table. With what a mean is made of in the index, the table itself is not looked into.
alter table rollups drop constraint rollups_pkey, add primary key (monitor_key, hour, continent) include (ok, took_sum);
-- The index alone does only where a piece is known to be visible to all; a table that mostly grows would wait for that until it is a fifth larger.
alter table rollups set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
