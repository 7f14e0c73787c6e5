-- Leaves the lock once; returns nil if it is not the caller's, 0 if the caller is still inside, and 1 if it is free
-- now. Listeners cannot tell that the message is sent before the key is deleted, and not after it as in Redisson.
-- KEYS[1] lock, KEYS[2] channel, ARGV[1] message, ARGV[2] lease in milliseconds, ARGV[3] owner
local times = redis.call('HGET', KEYS[1], ARGV[3])
if not times then
	return nil
end
if tonumber(times) > 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[3], -1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 0
end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
