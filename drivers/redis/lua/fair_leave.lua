-- Gives up the caller's place in line; if he has none any more he may be the owner, and then what follows gives that up.
-- ARGV[1] token, ARGV[2] the place as it stands in line ('': it is not known, and looked for)
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
