-- Enters the lock, with a full lease, if it is free or already the caller's; returns nil, or the rest of the holder's
-- lease in milliseconds. The commands and their order are Redisson's, and so is the flaw that a user with permission
-- for HINCRBY but not PEXPIRE leaves a lock behind that never expires.
-- KEYS[1] lock, ARGV[1] lease in milliseconds, ARGV[2] owner
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return nil
end
return redis.call('PTTL', KEYS[1])
