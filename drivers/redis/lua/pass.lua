-- Makes the next owner the lock's owner, with a full lease, if it is still the caller's; returns 1, or 0 if it is lost.
-- KEYS[1] lock, ARGV[1] owner, ARGV[2] next owner, ARGV[3] lease in milliseconds
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
