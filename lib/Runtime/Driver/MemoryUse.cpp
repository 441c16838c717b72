#include "tpsp/Runtime/Driver/MemoryUse.h"

#include "tpsp/Runtime/Driver/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::rt;

/// How many consumers a refusal names.
static constexpr size_t listed = 3;

namespace {

/// The commands from the first to the last that uses a buffer.
struct Lifetime {
  Lifetime(const TraceBuffer &buffer, int64_t commands) {
    if (buffer.lasts)
      last = commands - 1;
    else if (buffer.users.empty())
      first = commands; // never
    else
      first = buffer.users.front(), last = buffer.users.back();
  }

  bool contains(int64_t command) const {
    return first <= command && command <= last;
  }

  int64_t first = 0, last = -1;
};

} // namespace

/// The first command at which most bytes are in use.
static int64_t peakCommand(const StepTrace &trace) {
  auto commands = static_cast<int64_t>(trace.commands.size());
  std::vector<int64_t> change(commands + 1);
  for (const TraceBuffer &buffer : trace.buffers) {
    Lifetime life(buffer, commands);
    if (life.last < life.first)
      continue;
    change[life.first] += buffer.bytes;
    change[life.last + 1] -= buffer.bytes;
  }
  int64_t peak = 0, inUse = 0, most = -1;
  for (int64_t i = 0; i < commands; ++i)
    if ((inUse += change[i]) > most)
      most = inUse, peak = i;
  return peak;
}

std::vector<int64_t> tpsp::rt::buffersAtPeak(const StepTrace &trace) {
  auto commands = static_cast<int64_t>(trace.commands.size());
  int64_t peak = peakCommand(trace);
  std::vector<int64_t> result;
  for (size_t i = 0; i < trace.buffers.size(); ++i)
    if (trace.buffers[i].lasts ||
        Lifetime(trace.buffers[i], commands).contains(peak))
      result.push_back(static_cast<int64_t>(i));
  std::stable_sort(result.begin(), result.end(), [&](int64_t a, int64_t b) {
    return trace.buffers[a].bytes > trace.buffers[b].bytes;
  });
  return result;
}

std::string tpsp::rt::largestConsumers(const StepTrace &trace) {
  std::vector<int64_t> buffers = buffersAtPeak(trace);
  std::string text;
  for (size_t i = 0; i < std::min(listed, buffers.size()); ++i) {
    const TraceBuffer &buffer = trace.buffers[buffers[i]];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        buffer.name.empty() ? "an unnamed value" : buffer.name,
                        bytesText(static_cast<double>(buffer.bytes)));
    if (!buffer.location.empty())
      text += fmt::format(" ({})", buffer.location);
  }
  return text;
}
