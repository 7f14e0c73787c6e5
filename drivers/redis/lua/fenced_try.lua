-- Takes the lock if it is free; returns the fencing token, or 0 if the lock is not free. It counts before it takes the
-- lock: a counter that cannot be incremented must not leave a lock behind. The counter outlives each lease by a day.
-- KEYS[1] lock, KEYS[2] counter, ARGV[1] owner, ARGV[2] lease in milliseconds
if redis.call('EXISTS', KEYS[1]) == 1 then
	return 0
end
local fence = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], string.format('%.0f', ARGV[2] + 86400000))
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return fence
