-- The link by which the old mailbox ends a change of address.
alter table email_verifications add column keep_fingerprint bytea unique;
