-- Sets the full lease again if the lock is still the caller's; returns 1, or 0 if it is lost.
-- KEYS[1] lock, ARGV[1] lease in milliseconds, ARGV[2] owner
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
	return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
