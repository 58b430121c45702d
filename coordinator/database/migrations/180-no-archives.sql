drop table archive_pieces;
drop table archive_files;
drop table archives;
-- Only the archive of all organisations read when a row was made.
alter table daily_rollups drop column made_at;
