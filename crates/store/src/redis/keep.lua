-- Keeps a session whole if its revision is still the one it was made from: 1 if it is kept, 0 if somebody was faster.
-- KEYS: short, memory, entities, said, records.
-- ARGV: revision made from, name of this write, names of writes remembered (bytes), lifetime in milliseconds,
--       memory, entities, the turn as said ('' for none), its record, said kept, records kept, then the header's pairs.
local complete = redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) == 3
local revision, writes = '0', ''
if complete then
  local header = redis.call('HMGET', KEYS[1], 'revision', 'writes')
  revision, writes = header[1] or '0', header[2] or ''
end
-- A write whose answer was lost comes again: it is done, whatever came after it.
if string.find(writes, ARGV[2], 1, true) then
  return 1
end
if revision ~= ARGV[1] then
  return 0
end
local lifetime = tonumber(ARGV[4])
if lifetime <= 0 then
  redis.call('DEL', unpack(KEYS))
  return 1
end
-- The first write of a script is the one that is refused when memory is full, so it is one that needs memory.
local names = string.sub(ARGV[2] .. ' ' .. writes, 1, tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'writes', names, unpack(ARGV, 11))
if not complete then
  -- What is left of a session that was evicted in part is not the new one's.
  redis.call('DEL', KEYS[4], KEYS[5])
end
redis.call('SET', KEYS[2], ARGV[5])
redis.call('SET', KEYS[3], ARGV[6])
if ARGV[7] ~= '' then
  redis.call('RPUSH', KEYS[4], ARGV[7])
  redis.call('LTRIM', KEYS[4], -tonumber(ARGV[9]), -1)
  redis.call('RPUSH', KEYS[5], ARGV[8])
  redis.call('LTRIM', KEYS[5], -tonumber(ARGV[10]), -1)
end
-- A moment, not a duration: Redis 7.0 looks at the clock for each of these, and parts would end one after the other.
local time = redis.call('TIME')
local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + lifetime)
for _, key in ipairs(KEYS) do
  redis.call('PEXPIREAT', key, ends)
end
return 1
