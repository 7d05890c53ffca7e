-- What a long turn said, as length and hashes: a reader that was shown all of it is not sent it again.

ALTER TABLE et_turns ADD COLUMN spoken_trace TEXT;
