-- What the webhooks of a task are still to be told.
-- KEYS: task, order, letters. ARGV: what to do, the webhook, and how.
local what, hook = ARGV[1], ARGV[2]
local function own(member)
  local number, name = string.match(member, '^(%d+):(.*)$')
  return name == hook and number
end
if what == 'put-off' then
  local letter = redis.call('HGET', KEYS[3], ARGV[3])
  -- It may be gone: its task has expired, or somebody has deleted the webhook.
  if letter then
    local body = string.match(letter, '^%d+:%d+:(.*)$')
    redis.call('HSET', KEYS[3], ARGV[3], ARGV[4] .. ':' .. ARGV[5] .. ':' .. body)
  end
  return 1
end
local left = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local number = own(member)
  if number and what == 'next' then
    return { number, redis.call('HGET', KEYS[3], number) }
  elseif number and what == 'told' and tonumber(number) <= tonumber(ARGV[3]) then
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', KEYS[3], number)
  elseif number then
    left = left + 1
  end
end
if what == 'next' then
  return false
end
return left
