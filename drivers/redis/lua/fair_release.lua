-- Releases the lock if it is still the caller's: the first in line gets it. Returns how many locks it released: 0 or 1.
-- ARGV[1] token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
if not handOver() then
	redis.call('DEL', KEYS[1])
end
return 1
