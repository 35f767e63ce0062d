-- For wrk: the one address of the command line, or, where LIST names a file of addresses, all of
-- them in their order from START on, again and again. Prints one line of JSON at the end.
local requests, place = {}, 0

function init()
  local list = os.getenv("LIST")
  if not list then return end
  for path in io.lines(list) do requests[#requests + 1] = wrk.format("GET", path) end
  place = tonumber(os.getenv("START")) % #requests
end

-- wrk looks whether there is such a function: without one it makes its request once.
if os.getenv("LIST") then
  function request()
    place = place % #requests + 1
    return requests[place]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"failed":%d,"statuses":%d,"bytes":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status, summary.bytes))
end
