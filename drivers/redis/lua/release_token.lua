-- Deletes the lock if it is still the caller's, and leaves a token for one sleeping client, unless there is one.
-- Returns how many locks it deleted: 0 or 1.
-- KEYS[1] lock, ARGV[1] owner, ARGV[2] suffix of the list of tokens, ARGV[3] a token's life in milliseconds,
-- ARGV[4] suffix of the channel to publish on (absent: do not publish)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
local tokens = KEYS[1] .. ARGV[2]
if redis.call('EXISTS', tokens) == 0 then
	redis.call('RPUSH', tokens, '1')
	redis.call('PEXPIRE', tokens, ARGV[3])
end
if ARGV[4] then
	redis.call('PUBLISH', KEYS[1] .. ARGV[4], '')
end
return redis.call('DEL', KEYS[1])
