-- Enters the lock if it is free or the caller's already, with a full lease; answers nil, or if it is another's for how
-- many milliseconds his lease still lasts. The commands and their order are Redisson's, and so is the flaw that a user
-- who may HINCRBY and not PEXPIRE leaves a lock behind that never ends.
-- KEYS[1] lock, ARGV[1] lease in milliseconds, ARGV[2] owner
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return nil
end
return redis.call('PTTL', KEYS[1])
