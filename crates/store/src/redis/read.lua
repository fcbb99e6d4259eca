-- Reads what is asked of a session, at one moment; nothing of one that is not whole.
-- KEYS: short, memory, entities, said, records. ARGV: what to read, and how.
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) < 3 then
  return false
end
local what = ARGV[1]
if what == 'session' then
  return { redis.call('HMGET', KEYS[1], unpack(ARGV, 2)), redis.call('GET', KEYS[2]), redis.call('GET', KEYS[3]) }
elseif what == 'header' then
  return redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
elseif what == 'lifetime' then
  return redis.call('PTTL', KEYS[1])
elseif what == 'said' then
  return redis.call('LRANGE', KEYS[4], -tonumber(ARGV[2]), -1)
elseif what == 'said_before' then
  -- Turns are numbered without gaps, and the last of the list is the last that was said.
  local newer = math.max(0, tonumber(redis.call('HGET', KEYS[1], 'turns_said')) - tonumber(ARGV[3]) + 1)
  return redis.call('LRANGE', KEYS[4], -(newer + tonumber(ARGV[2])), -(newer + 1))
elseif what == 'records' then
  return redis.call('LRANGE', KEYS[5], -tonumber(ARGV[2]), -1)
end
-- One record, by how it starts; the newest first and a few at a time, since each may be long.
local start, few, last = ARGV[2], 16, -1
while true do
  local records = redis.call('LRANGE', KEYS[5], last - few + 1, last)
  if #records == 0 then
    return false
  end
  for place = #records, 1, -1 do
    if string.sub(records[place], 1, #start) == start then
      return records[place]
    end
  end
  last = last - few
end
