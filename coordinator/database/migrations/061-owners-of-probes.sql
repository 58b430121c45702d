-- When the owners of a private probe were mailed of what is wrong with it (rule 39).
alter table notices add column owners_told_at timestamptz;
