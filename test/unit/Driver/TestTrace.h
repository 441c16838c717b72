/// Traces made by hand.
#ifndef TPSP_TEST_UNIT_DRIVER_TESTTRACE_H
#define TPSP_TEST_UNIT_DRIVER_TESTTRACE_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp::rt {

/// Adds a buffer that these commands use, and returns its number.
inline int64_t addBuffer(Plan &plan, int64_t bytes, bool lasts,
                         const std::vector<int64_t> &users,
                         const std::string &name = "",
                         const std::string &location = "") {
  auto number = static_cast<int64_t>(plan.buffers.size());
  PlanBuffer &buffer = plan.buffers.emplace_back();
  buffer.bytes = bytes;
  buffer.kind = lasts ? BufferKind::Input : BufferKind::Temporary;
  buffer.name = name;
  buffer.location = location;
  for (int64_t user : users)
    plan.commands[user].accesses.push_back({number, {0, bytes, 1, 0}, false});
  return number;
}

/// A trace of ranks. Commands are added in the order in which they run.
class TestTrace {
public:
  explicit TestTrace(size_t ranks = 1) {
    trace.plan = plan;
    trace.title = "test";
    trace.ranks.resize(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      trace.ranks[rank].name = "rank " + std::to_string(rank);
      trace.ranks[rank].streams.resize(3);
    }
  }

  /// Adds a kernel on stream 0.
  int64_t compute(double begin, double end) {
    return add(CommandKind::Kernel, 0, begin, end);
  }
  int64_t event(int64_t stream, double begin, double end) {
    return add(CommandKind::EventWait, stream, begin, end);
  }
  /// Adds a collective with its own row of the ledger, or with the last row if
  /// it `goesOn`.
  int64_t collective(int64_t stream, double begin, double end,
                     bool goesOn = false) {
    int64_t id = add(CommandKind::Collective, stream, begin, end);
    if (!goesOn) {
      plan->ledger.emplace_back();
      plan->ledger.back().kind = CollectiveKind::AllGather;
      plan->ledger.back().bytes = 1000;
    }
    plan->ledger.back().commands.push_back(id);
    plan->commands[id].collective.row =
        static_cast<int64_t>(plan->ledger.size()) - 1;
    return id;
  }
  /// Makes `reader` read the results of `writers`.
  void reads(int64_t reader, const std::vector<int64_t> &writers) {
    for (int64_t writer : writers) {
      int64_t buffer = addBuffer(*plan, 8, false, {reader});
      plan->commands[writer].accesses.push_back({buffer, {0, 8, 1, 0}, true});
    }
  }

  std::shared_ptr<Plan> plan = std::make_shared<Plan>();
  StepTrace trace;

private:
  int64_t add(CommandKind kind, int64_t stream, double begin, double end) {
    auto id = static_cast<int64_t>(plan->commands.size());
    plan->commands.emplace_back();
    plan->commands[id].kind = kind;
    plan->commands[id].call = "command " + std::to_string(id);
    for (TraceRank &rank : trace.ranks)
      rank.streams[stream].push_back({id, begin, end});
    return id;
  }
};

} // namespace tpsp::rt

#endif // TPSP_TEST_UNIT_DRIVER_TESTTRACE_H
