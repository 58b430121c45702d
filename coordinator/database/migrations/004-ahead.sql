-- Results beyond the mark that are committed already: decided while those before them waited for what others hand over (rule 4).
alter table watermarks add column ahead bigint[] not null default '{}';
