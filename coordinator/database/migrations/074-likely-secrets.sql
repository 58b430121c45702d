-- Headers whose name or value looks like a secret (looksSecret in shared/checks/https/config.ts; never more than that finds, or the house would
-- encrypt them for ever), besides those that are one by their nature. As in 035: a coordinator encrypts what was stored before, and the index holds what is left.
create function has_likely_secret(config jsonb) returns boolean language sql immutable as $$
  select case when jsonb_typeof(config -> 'headers') = 'object' then exists (
    select 1 from jsonb_each(config -> 'headers') h where jsonb_typeof(h.value) = 'string' and h.value <> '"***"' and (
      h.key ~* '(^|[-_])(password|passwd|pwd|auth|credentials?|cookie|session|signature|(api|access|auth|client|license|private|secret|session)?(keys?|tokens?|secrets?))([-_]|$)'
      or h.key !~* '^(accept|accept-.*|cache-control|content-.*|if-.*|origin|prefer|range|referer|x-requested-with)$' and (
        h.value #>> '{}' ~* '^(bearer|basic|token)[ \t]+[!-~]'
        or h.value #>> '{}' ~ '^[A-Za-z0-9_+/=.~-]{20,}$' and h.value #>> '{}' ~ '[0-9]' and h.value #>> '{}' ~ '[A-Za-z]'))
  ) else false end
$$;

create index monitors_likely_secrets on monitors (id) where type = 'https' and (has_open_secret(config) or has_likely_secret(config));

-- What the audit log remembers of them is nobody's to read.
update audit_log set changed = jsonb_set(changed, '{before,config,headers}', (
  select jsonb_object_agg(h.key, case when has_likely_secret(jsonb_build_object('headers', jsonb_build_object(h.key, h.value)))
    then '"***"' else h.value end) from jsonb_each(changed #> '{before,config,headers}') h))
where has_likely_secret(changed #> '{before,config}');
update audit_log set changed = jsonb_set(changed, '{after,config,headers}', (
  select jsonb_object_agg(h.key, case when has_likely_secret(jsonb_build_object('headers', jsonb_build_object(h.key, h.value)))
    then '"***"' else h.value end) from jsonb_each(changed #> '{after,config,headers}') h))
where has_likely_secret(changed #> '{after,config}');
