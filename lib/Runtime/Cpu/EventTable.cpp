#include "EventTable.h"

#include <algorithm>

namespace tpsp::rt {

void EventTable::record(int64_t event, int64_t number) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    recorded[event] = std::max(recorded[event], number);
  }
  changed.notify_all();
}

Status EventTable::wait(int64_t event, int64_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return recorded[event] >= number || aborted; });
  if (recorded[event] >= number)
    return {};
  return {TPSP_RT_ABORTED, "another rank or stream failed"};
}

void EventTable::abort() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    aborted = true;
  }
  changed.notify_all();
}

bool EventTable::isAborted() {
  std::lock_guard<std::mutex> lock(mutex);
  return aborted;
}

} // namespace tpsp::rt
