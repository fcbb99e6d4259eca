-- Deletes a task that has expired: 1 if it is gone now, 0 if it lives on.
-- KEYS: task, order, letters. ARGV: now.
local expires_at = redis.call('HGET', KEYS[1], 'expires_at')
if expires_at and tonumber(expires_at) > tonumber(ARGV[1]) then
  return 0
end
redis.call('DEL', unpack(KEYS))
return 1
