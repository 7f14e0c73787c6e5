-- Takes the lock if it is free, and gives it a lease; returns how many locks it granted: 0 or 1.
-- KEYS[1] lock, ARGV[1] lease in milliseconds
if redis.call('SETNX', KEYS[1], '1') == 0 then
	return 0
end
-- A user who may not PEXPIRE must not leave a lock behind that never ends: an error has to mean "no effect".
local expiry = redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
if type(expiry) == 'table' and expiry.err then
	redis.call('DEL', KEYS[1])
	return expiry
end
return 1
