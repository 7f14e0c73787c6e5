-- Takes the lock, takes a place in line, or renews the caller's place. Returns whether the lock is the caller's (1 or
-- 0), the rest of the owner's lease, and the time.
-- ARGV[1] token, ARGV[2] lease, ARGV[3] channel, ARGV[4] for how long to keep the place from now ('0': unchanged),
-- ARGV[5] until when it is kept ('': the caller has none yet)
local at = now()
local rest = redis.call('PTTL', KEYS[1])
if rest == -2 then
	local owner, lease = handOver()
	if not owner then
		owner, lease = ARGV[1], tonumber(ARGV[2])
		redis.call('SET', KEYS[1], owner, 'PX', lease)
	end
	if owner == ARGV[1] then
		return {1, lease, at}
	end
	rest = lease
elseif ARGV[5] ~= '' and redis.call('GET', KEYS[1]) == ARGV[1] then
	return {1, rest, at}
end
if ARGV[4] == '0' then
	return {0, rest, at}
end
local function place(kept)
	return string.format('%.0f %s %s %s', kept, ARGV[2], ARGV[1], ARGV[3])
end
local new = place(at + ARGV[4])
local there = 0
if ARGV[5] ~= '' then
	local old = place(tonumber(ARGV[5]))
	there = redis.call('LINSERT', KEYS[2], 'BEFORE', old, new)
	if there > 0 then
		redis.call('LREM', KEYS[2], 1, old)
	end
end
if there <= 0 then
	redis.call('RPUSH', KEYS[2], new)
end
redis.call('PEXPIRE', KEYS[2], 20000) -- twice as long as a place is ever kept: the line goes with the last of its waiters
return {0, rest, at}
