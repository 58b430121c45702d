-- The kinds of checks that every peer has.
alter table monitors drop constraint monitors_type_check;
alter table monitors add constraint monitors_type_check check (
  type in ('https', 'dns', 'heartbeat', 'tcp', 'tls', 'icmp', 'domain', 'websocket', 'grpc')
);
