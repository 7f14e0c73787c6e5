-- Gives up the caller's place in line. If it has none any more it may be the owner, and what follows releases the lock.
-- ARGV[1] token, ARGV[2] the place as it is in the list ('': unknown, search for it)
local place = ARGV[2]
if place == '' then
	for _, other in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
		if string.match(other, '^%d+ %d+ (%S+) ') == ARGV[1] then
			place = other
		end
	end
end
if place ~= '' and redis.call('LREM', KEYS[2], 1, place) > 0 then
	return 0
end
