-- Renews the lease of whoever has a run: what was left for it meanwhile; nothing if the run is no longer the caller's.
-- KEYS: run, wishes. ARGV: epoch, lease in milliseconds.
local run = redis.call('HMGET', KEYS[1], 'epoch', 'ended')
if run[1] ~= ARGV[1] or run[2] then
  return false
end
local time = redis.call('TIME')
local lease = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'lease', lease)
local wishes = redis.call('LRANGE', KEYS[2], 0, -1)
redis.call('DEL', KEYS[2])
return wishes
