-- Whose thread it is: the user that its first turn with a user names.

ALTER TABLE et_threads ADD COLUMN user_id TEXT;
