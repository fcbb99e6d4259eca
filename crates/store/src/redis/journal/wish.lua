-- Leaves a wish for whoever works on a run: 1 if it is there, 0 if too many are waiting.
-- KEYS: wishes. ARGV: wish, most that may wait, milliseconds after which nobody wants them any more.
for _, waiting in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  -- A write whose answer was lost comes again.
  if waiting == ARGV[1] then
    return 1
  end
end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
