-- Takes a member out of a sorted set unless it has been given a higher score meanwhile; says whether it did.
-- KEYS: the set. ARGV: the member, the highest score.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score and tonumber(score) <= tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
