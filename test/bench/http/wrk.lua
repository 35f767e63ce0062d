-- A script for wrk. Without LIST, wrk requests the address of the command line. If LIST names a file
-- of addresses, they are requested in order and repeatedly, from START on. Prints a line of JSON.
local requests, index = {}, 0

function init()
  local list = os.getenv("LIST")
  if not list then return end
  for path in io.lines(list) do requests[#requests + 1] = wrk.format("GET", path) end
  index = tonumber(os.getenv("START")) % #requests
end

-- wrk checks whether this function exists: without it, wrk builds its request only once.
if os.getenv("LIST") then
  function request()
    index = index % #requests + 1
    return requests[index]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"failed":%d,"statuses":%d,"bytes":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status, summary.bytes))
end
