-- Keeps a new run: 1 if it is kept, 0 if there is another of this name.
-- KEYS: run. ARGV: order, principal, beginning, lease in milliseconds.
local known = redis.call('HMGET', KEYS[1], 'order', 'at')
if known[1] then
  -- A write whose answer was lost comes again.
  return (known[1] == ARGV[1] and known[2] == ARGV[3]) and 1 or 0
end
local time = redis.call('TIME')
local lease = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'order', ARGV[1], 'principal', ARGV[2], 'at', ARGV[3],
  'epoch', '0', 'length', '0', 'lease', lease)
return 1
