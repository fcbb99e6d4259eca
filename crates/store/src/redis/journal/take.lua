-- Takes a run over: its new epoch, 0 if it is not there or has ended, -1 if somebody else has it.
-- KEYS: run. ARGV: lease in milliseconds, 'free' to take it only if its lease has run out.
local run = redis.call('HMGET', KEYS[1], 'epoch', 'ended', 'lease')
if not run[1] or run[2] then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == 'free' and tonumber(run[3]) > now then
  return -1
end
redis.call('HSET', KEYS[1], 'lease', string.format('%.0f', now + tonumber(ARGV[1])))
return redis.call('HINCRBY', KEYS[1], 'epoch', 1)
