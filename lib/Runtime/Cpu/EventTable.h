/// The events of one rank: what its streams wait for.
#ifndef TPSP_RUNTIME_CPU_EVENTTABLE_H
#define TPSP_RUNTIME_CPU_EVENTTABLE_H

#include "tpsp/Runtime/Backend.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tpsp::rt {

/// Counts how often each event was recorded. So a wait of one step does not
/// take the record of an earlier step for its own. The rank's thread numbers an
/// event's records from 1 as it issues them. A wait names the last number
/// before it. Thread-safe. Allocates nothing after its making.
class EventTable {
public:
  explicit EventTable(int64_t events) : recorded(events, 0) {}

  /// Record `number` of `event` has been reached by its stream.
  void record(int64_t event, int64_t number) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      recorded[event] = std::max(recorded[event], number);
    }
    changed.notify_all();
  }

  /// Returns when record `number` of `event` was reached; ABORTED if the run
  /// ends before. Blocks and does not spin. Without a time limit of its own. In
  /// program order the record comes before the wait, so whatever bounds the
  /// record's waiting bounds this.
  Status wait(int64_t event, int64_t number) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return recorded[event] >= number || aborted; });
    return recorded[event] >= number ? Status() : abortedByAnother();
  }

  /// Makes all waits, pending and later, return ABORTED.
  void abort() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      aborted = true;
    }
    changed.notify_all();
  }

  bool isAborted() {
    std::lock_guard<std::mutex> lock(mutex);
    return aborted;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  /// By event: the highest number reached.
  std::vector<int64_t> recorded;
  bool aborted = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_EVENTTABLE_H
