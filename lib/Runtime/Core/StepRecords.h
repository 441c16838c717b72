/// The steps that a rank's backend has recorded, and when it records one.
///
/// The first time a step runs as it is issued: a backend then makes what it
/// keeps with the commands. The second time it is recorded and replayed; from
/// then on it is replayed. A step that cannot be recorded runs as it is issued
/// for ever.
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

  /// Runs the step that is known as `identity`, for `rank`, on its thread.
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
