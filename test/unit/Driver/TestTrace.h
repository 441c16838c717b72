/// Traces made by hand.
#ifndef TPSP_TEST_UNIT_DRIVER_TESTTRACE_H
#define TPSP_TEST_UNIT_DRIVER_TESTTRACE_H

#include "tpsp/Runtime/Driver/StepTrace.h"

namespace tpsp::rt {

/// One rank. Commands are added as they run; each kind numbers itself.
class TestTrace {
public:
  explicit TestTrace(size_t ranks = 1) {
    trace.program = "test";
    trace.ranks.resize(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      trace.ranks[rank].name = "rank " + std::to_string(rank);
      trace.ranks[rank].streams.resize(3);
    }
  }

  /// Something that computes on stream 0.
  int64_t compute(double begin, double end) {
    return add(TraceCommand::Kind::Compute, 0, begin, end);
  }
  int64_t event(int64_t stream, double begin, double end) {
    return add(TraceCommand::Kind::Event, stream, begin, end);
  }
  /// A collective of a row of its own, or of the last row if it `goesOn`.
  int64_t collective(int64_t stream, double begin, double end,
                     bool goesOn = false) {
    int64_t id = add(TraceCommand::Kind::Collective, stream, begin, end);
    if (!goesOn) {
      trace.collectives.emplace_back();
      trace.collectives.back().kind = "all_gather";
      trace.collectives.back().bytes = 1000;
    }
    trace.collectives.back().commands.push_back(id);
    trace.commands[id].collective =
        static_cast<int64_t>(trace.collectives.size()) - 1;
    return id;
  }

  StepTrace trace;

private:
  int64_t add(TraceCommand::Kind kind, int64_t stream, double begin,
              double end) {
    auto id = static_cast<int64_t>(trace.commands.size());
    trace.commands.emplace_back();
    trace.commands[id].kind = kind;
    trace.commands[id].name = "command " + std::to_string(id);
    for (TraceRank &rank : trace.ranks)
      rank.streams[stream].push_back({id, begin, end});
    return id;
  }
};

} // namespace tpsp::rt

#endif // TPSP_TEST_UNIT_DRIVER_TESTTRACE_H
