-- Keys that outlive SECRET_KEY: what they made (fingerprints of tokens, cursors) stays good when SECRET_KEY is replaced. Wrapped as the keys
-- of secrets are; without a row the key is derived from SECRET_KEY.
create table kept_keys (purpose text primary key, wrapped bytea not null);
