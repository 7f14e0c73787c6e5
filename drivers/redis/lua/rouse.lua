-- Leaves a token for one sleeping client, unless there is one. Returns 1 if it did.
-- KEYS[1] lock, ARGV[1] suffix of the list of tokens, ARGV[2] a token's life in milliseconds
local tokens = KEYS[1] .. ARGV[1]
if redis.call('EXISTS', tokens) == 1 then
	return 0
end
redis.call('RPUSH', tokens, '1')
redis.call('PEXPIRE', tokens, ARGV[2])
return 1
