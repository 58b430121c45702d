-- At which place the coordinator runs that claimed it: whoever starts there again takes back what its predecessor had claimed.
alter table messages add column claimed_by uuid;
