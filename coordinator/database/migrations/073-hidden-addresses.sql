-- The address of a webhook is shown by its host alone; what the audit log remembers of it is nobody's to read either. No other kind has a secret that is made
-- here beside its address.
update audit_log set changed = jsonb_set(changed, '{before,config,url}',
  to_jsonb(regexp_replace(changed #>> '{before,config,url}', '^(https?://[^/?#]+).*$', '\1/***')))
where operation = 'updateChannel' and changed #> '{before,config,secret}' is not null and changed #>> '{before,config,url}' like 'http%';
update audit_log set changed = jsonb_set(changed, '{after,config,url}',
  to_jsonb(regexp_replace(changed #>> '{after,config,url}', '^(https?://[^/?#]+).*$', '\1/***')))
where operation in ('createChannel', 'updateChannel') and changed #> '{after,config,secret}' is not null and changed #>> '{after,config,url}' like 'http%';
