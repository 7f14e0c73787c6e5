-- The scripts of the design fair begin with this.
-- KEYS[1] lock: the owner's token. KEYS[2] line: a list of places, each "<kept until> <lease> <token> <channel>", where
-- the channel is the inbox of the waiter's process, and times are in milliseconds.

local function now()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Makes the first in line the owner, with the lease that it asked for, and notifies its process. Returns its token and
-- lease, or false if the line is empty. Expired places are dropped. If the message cannot be sent, the script fails
-- without changing the lock, and one place is lost: its client takes another one when it looks next.
local function handOver()
	local at
	local place = redis.call('LPOP', KEYS[2])
	while place do
		at = at or now()
		local kept, lease, owner, channel = string.match(place, '^(%d+) (%d+) (%S+) (.+)$')
		if tonumber(kept) > at then
			redis.call('PUBLISH', channel, string.format('%s %.0f', owner, at))
			redis.call('SET', KEYS[1], owner, 'PX', lease)
			return owner, tonumber(lease)
		end
		place = redis.call('LPOP', KEYS[2])
	end
	return false
end

