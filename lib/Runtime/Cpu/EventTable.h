/// The events of one rank, on which its streams wait.
#ifndef TPSP_RUNTIME_CPU_EVENTTABLE_H
#define TPSP_RUNTIME_CPU_EVENTTABLE_H

#include "tpsp/Runtime/Backend.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tpsp::rt {

/// Counts how often each event was recorded, so that a wait does not mistake a
/// record of an earlier step for its own. The rank's thread numbers an event's
/// records from 1 as it issues them. A wait names the last record before it.
/// Thread-safe. Allocates nothing after construction.
class EventTable {
public:
  explicit EventTable(int64_t events) : recorded(events, 0) {}

  /// Called when the stream has reached record `number` of `event`.
  void record(int64_t event, int64_t number) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      recorded[event] = std::max(recorded[event], number);
    }
    changed.notify_all();
  }

  /// Returns when record `number` of `event` has been reached; ABORTED if the
  /// run ends before. Blocks and does not spin. It has no time limit: the
  /// record precedes the wait in program order, so the limit on the record's
  /// stream bounds this wait too.
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
