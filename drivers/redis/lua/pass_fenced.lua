-- Makes the next owner the lock's owner, with a full lease, if it is still the caller's; returns the new fencing token,
-- or 0 if the lock is lost. It counts before it changes the lock, and keeps the counter for a day, like fenced_try.lua.
-- KEYS[1] lock, KEYS[2] counter, ARGV[1] owner, ARGV[2] next owner, ARGV[3] lease in milliseconds
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
local fence = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], string.format('%.0f', ARGV[3] + 86400000))
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return fence
