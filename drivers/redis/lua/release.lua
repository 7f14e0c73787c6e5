-- Deletes the lock if it is still the caller's, and returns how many locks it deleted: 0 or 1.
-- KEYS[1] lock, ARGV[1] owner, ARGV[2] suffix of the channel to publish on (absent: do not publish)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
if ARGV[2] then
	redis.call('PUBLISH', KEYS[1] .. ARGV[2], '')
end
return redis.call('DEL', KEYS[1])
