-- A subscriber is a mailbox, or an https address that answered a challenge.
alter table status_page_subscribers alter column email drop not null;
alter table status_page_subscribers
  -- Of the address: one page has each once.
  add column url_fingerprint bytea,
  -- The part of the address that is shown.
  add column host text,
  -- The address and the secret that signs what is sent there, encrypted.
  add column secrets bytea,
  -- Since when nothing was accepted there; null once something is.
  add column failing_since timestamptz,
  -- Nothing is sent there any more, because nothing was accepted for a long time.
  add column off_at timestamptz,
  add check ((email is null) = (secrets is not null and url_fingerprint is not null and host is not null));
create unique index status_page_subscribers_url on status_page_subscribers (page_id, url_fingerprint);

-- What is still to be sent to a subscribed address. A row is deleted once it was accepted, or is given up.
create table status_page_deliveries (
  id uuid primary key,
  subscriber_id uuid not null references status_page_subscribers on delete cascade,
  -- The incident or report, and what of it: as in mails.
  incident_id uuid not null,
  event text not null check (event in ('began', 'over', 'post')),
  post_id uuid,
  created_at timestamptz not null,
  next_at timestamptz not null,
  attempts integer not null default 0
);
create index status_page_deliveries_next on status_page_deliveries (next_at);
create index status_page_deliveries_subscriber on status_page_deliveries (subscriber_id);
