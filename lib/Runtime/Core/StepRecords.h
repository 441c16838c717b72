/// The steps that a rank's backend has recorded.
///
/// The first time, a step is issued, so that the backend prepares what it keeps
/// with the commands. The second time, it is recorded and replayed. From then
/// on it is replayed. A step that cannot be recorded is issued every time.
#ifndef TPSP_RUNTIME_CORE_STEPRECORDS_H
#define TPSP_RUNTIME_CORE_STEPRECORDS_H

#include "tpsp/Runtime/Backend.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace tpsp::rt {

class StepRecords {
public:
  using Issue = std::function<tpsp_rt_status(tpsp_rt_rank *)>;

  /// Runs the step identified by `identity` for `rank`, on the rank's thread.
  Status run(tpsp_rt_rank &rank, const void *identity, const Issue &issue);

private:
  struct Entry {
    bool hasRun = false;
    bool isRefused = false;
    std::unique_ptr<RecordedStep> recorded;
  };

  static Status record(tpsp_rt_rank &rank, const Issue &issue, Entry &entry);
  static void warn(const tpsp_rt_rank &rank, const Status &why);

  std::unordered_map<const void *, Entry> steps;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_STEPRECORDS_H
