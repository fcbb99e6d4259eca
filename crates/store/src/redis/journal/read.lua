-- A run with all of its entries: order, principal, beginning, epoch, how it ended or '', entries; nothing if it is not there.
-- KEYS: run, journal, texts.
local run = redis.call('HMGET', KEYS[1], 'order', 'principal', 'at', 'epoch', 'ended')
if not run[1] then
  return false
end
local entries = {}
for _, found in ipairs(redis.call('XRANGE', KEYS[2], '-', '+')) do
  local field, value = found[2][1], found[2][2]
  entries[#entries + 1] = field == 'entry' and value or redis.call('HGET', KEYS[3], value)
end
return { run[1], run[2], run[3], run[4], run[5] or '', entries }
