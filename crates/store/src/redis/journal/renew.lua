-- Renews the lease of whoever has a run: 1 if it is renewed, 0 if the run is no longer the caller's.
-- KEYS: run. ARGV: epoch, lease in milliseconds.
local run = redis.call('HMGET', KEYS[1], 'epoch', 'ended')
if run[1] ~= ARGV[1] or run[2] then
  return 0
end
local time = redis.call('TIME')
local lease = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'lease', lease)
return 1
