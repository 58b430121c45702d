-- Headers that are secrets by their nature (secretByNature in shared/checks/https/keys.ts). What was stored before they counted as such stands
-- openly in configs until a coordinator, who has the key, encrypts it: the index holds the rows that are left, so that to look is nothing.
create function has_open_secret(config jsonb) returns boolean language sql immutable as $$
  select case when jsonb_typeof(config -> 'headers') = 'object' then exists (
    select 1 from jsonb_each(config -> 'headers') h where h.value <> '"***"' and lower(h.key) = any (array[
      'authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'api-key', 'apikey', 'x-auth-token', 'x-auth-key', 'x-access-token',
      'x-session-token', 'x-amz-security-token', 'x-goog-api-key', 'ocp-apim-subscription-key', 'x-functions-key', 'x-rapidapi-key',
      'cf-access-client-secret', 'private-token', 'x-gitlab-token', 'x-vault-token', 'x-shopify-access-token', 'dd-api-key',
      'dd-application-key'])
  ) else false end
$$;

create index monitors_open_secrets on monitors (id) where type = 'https' and has_open_secret(config);

-- What the audit log remembers of them is nobody's to read.
create function without_open_secrets(changed jsonb, part text) returns jsonb language sql immutable as $$
  select case when has_open_secret(changed #> array[part, 'config']) then jsonb_set(changed, array[part, 'config', 'headers'], (
    select jsonb_object_agg(h.key, case when has_open_secret(jsonb_build_object('headers', jsonb_build_object(h.key, h.value)))
      then '"***"' else h.value end) from jsonb_each(changed #> array[part, 'config', 'headers']) h
  )) else changed end
$$;

update audit_log set changed = without_open_secrets(without_open_secrets(changed, 'before'), 'after')
where has_open_secret(changed #> '{before,config}') or has_open_secret(changed #> '{after,config}');

drop function without_open_secrets(jsonb, text);
