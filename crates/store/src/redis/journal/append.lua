-- Adds entries to a run's journal if it is still the writer's: 1 if they are there, 0 if not.
-- KEYS: run, journal, texts.
-- ARGV: epoch, entries known, how the run ends with these ('' if it does not), lease in milliseconds,
--       bytes of an entry from which on it is kept beside the stream, then the entries.
local run = redis.call('HMGET', KEYS[1], 'epoch', 'length', 'ended')
if run[1] ~= ARGV[1] then
  return 0
end
local after, count = tonumber(ARGV[2]), #ARGV - 5
local function kept(number)
  local found = redis.call('XRANGE', KEYS[2], number .. '-0', number .. '-0')[1]
  if not found then
    return nil
  end
  return found[2][1] == 'entry' and found[2][2] or redis.call('HGET', KEYS[3], number)
end
if run[2] ~= ARGV[2] or run[3] then
  -- A write whose answer was lost comes again: it is done if the last entries are these.
  if tonumber(run[2]) ~= after + count or (run[3] or '') ~= ARGV[3] then
    return 0
  end
  for place = 1, count do
    if kept(after + place) ~= ARGV[5 + place] then
      return 0
    end
  end
  return 1
end
for place = 1, count do
  local number, entry = after + place, ARGV[5 + place]
  if #entry >= tonumber(ARGV[5]) then
    redis.call('HSET', KEYS[3], number, entry)
    redis.call('XADD', KEYS[2], number .. '-0', 'text', number)
  else
    redis.call('XADD', KEYS[2], number .. '-0', 'entry', entry)
  end
end
local time = redis.call('TIME')
local lease = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'length', string.format('%.0f', after + count), 'lease', lease)
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'ended', ARGV[3])
end
return 1
