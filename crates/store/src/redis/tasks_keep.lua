-- Keeps a task if its revision is still the one it was made from: 1 if it is kept, 0 if somebody was faster.
-- KEYS: task, order, letters.
-- ARGV: revision made from, name of this write, names of writes remembered (bytes), now, lifetime in milliseconds, count of the
--       task's pairs, then these pairs, then pairs of a webhook and what it is to be told.
local known = redis.call('HMGET', KEYS[1], 'revision', 'writes', 'expires_at')
local live = known[1] and tonumber(ARGV[4]) < tonumber(known[3])
local revision, writes = '0', ''
if live then
  revision, writes = known[1], known[2] or ''
end
-- A write whose answer was lost comes again: it is done, whatever came after it.
if string.find(writes, ARGV[2], 1, true) then
  return 1
end
if revision ~= ARGV[1] then
  return 0
end
local names = string.sub(ARGV[2] .. ' ' .. writes, 1, tonumber(ARGV[3]))
local pairs_end = 6 + 2 * tonumber(ARGV[6])
-- The first write of a script is the one that is refused when memory is full, so it is one that needs memory.
redis.call('HSET', KEYS[1], 'writes', names, unpack(ARGV, 7, pairs_end))
if not live then
  -- What is left of an expired task of this name is not the new one's.
  redis.call('DEL', KEYS[2], KEYS[3])
end
local time = redis.call('TIME')
local number = time[1] * 1000000 + time[2]
if #ARGV > pairs_end then
  -- Numbers never start anew: a webhook of the same name that comes later is another.
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  local before = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
  number = math.max(number, before, tonumber(last[2] or '0'))
  for place = pairs_end + 1, #ARGV, 2 do
    number = number + 1
    local text = string.format('%.0f', number)
    redis.call('ZADD', KEYS[2], text, text .. ':' .. ARGV[place])
    redis.call('HSET', KEYS[3], text, '0:0:' .. ARGV[place + 1])
  end
  redis.call('HSET', KEYS[1], 'number', string.format('%.0f', number))
end
local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[5]))
for _, key in ipairs(KEYS) do
  redis.call('PEXPIREAT', key, ends)
end
return 1
