-- The messages of an organisation, newest first, whatever their channel.
create index messages_of on messages (organisation_id, key);
