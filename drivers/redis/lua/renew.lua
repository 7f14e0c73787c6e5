-- Sets the full lease again if the lock is still the caller's; returns 1, or 0 if it is lost.
-- KEYS[1] lock, ARGV[1] owner, ARGV[2] lease in milliseconds
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
