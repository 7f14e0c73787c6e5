-- Takes the lock if it is free and nobody waits; answers nil, or for how long the owner's lease still lasts. If the
-- owner has died it is the first in line who gets the lock.
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
