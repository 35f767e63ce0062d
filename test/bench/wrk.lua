-- A script for wrk: requests the paths of the file LIST in turn, from the index FIRST on. Prints a line of JSON.
local paths = {}
for path in io.lines(os.getenv("LIST")) do paths[#paths + 1] = path end
wrk.path = paths[1]

-- wrk checks whether the function `request` exists: without it, wrk makes its request only once.
if #paths > 1 then
  local requests, index = {}, tonumber(os.getenv("FIRST")) % #paths

  function init()
    for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path) end
  end

  function request()
    index = index % #requests + 1
    return requests[index]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p99":%d,"failed":%d,"refused":%d}\n',
    summary.requests, summary.duration, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
