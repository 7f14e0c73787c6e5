-- Deletes the lock, whoever holds it, and returns how many locks it deleted: 0 or 1.
-- KEYS[1] lock, ARGV[1] suffix of the channel to publish on
redis.call('PUBLISH', KEYS[1] .. ARGV[1], '')
return redis.call('DEL', KEYS[1])
