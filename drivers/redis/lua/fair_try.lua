-- Takes the lock if it is free and the line is empty; returns nil, or the rest of the owner's lease. If the owner has
-- died, the first in line gets the lock.
-- ARGV[1] token, ARGV[2] lease
local rest = redis.call('PTTL', KEYS[1])
if rest ~= -2 then
	return rest
end
local owner, lease = handOver()
if owner then
	return lease
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return nil
