/// What every rank did when in one step, as plain values: measured by a run
/// (Timeline.h) or predicted by a simulator, and written in either case by the
/// same writers (ChromeTrace.h, TimelineSvg.h), summed up by the same functions
/// (Exposure.h).
///
/// Commands are those of one rank; every rank runs the same ones. Numbers of
/// commands, collectives and buffers are positions in the lists here.
#ifndef TPSP_RUNTIME_DRIVER_STEPTRACE_H
#define TPSP_RUNTIME_DRIVER_STEPTRACE_H

#include "tpsp/Runtime/Manifest.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::rt {

struct TraceCommand {
  enum class Kind { Compute, Collective, Event };

  Kind kind = Kind::Compute;
  /// For people, short: "all_gather xn", "matmul q".
  std::string name;
  /// "model.mlir:12:8", or empty.
  std::string location;
  /// The row of the ledger that it is, or is a part of; -1 if it is in none.
  int64_t collective = -1;
  /// The commands whose results it reads, each once.
  std::vector<int64_t> reads;
};

/// Memory that commands use, for the memory curve.
struct TraceBuffer {
  int64_t bytes = 0;
  /// Whether it is in use all through the step: arguments and results.
  bool lasts = false;
  /// The commands that read or write it. Between the first and the last of them
  /// the buffer is in use.
  std::vector<int64_t> users;
  /// The value's name in the program, and where it is there; may be empty.
  std::string name, location;
};

/// One command of one rank, in seconds from the start of the step.
struct TraceSpan {
  int64_t command = 0;
  double begin = 0, end = 0;
};

/// A value that holds from `seconds` on, until the next sample.
struct TraceSample {
  double seconds = 0, value = 0;
};

struct TraceRank {
  /// "rank 3: dp=1 tp=1".
  std::string name;
  /// What each stream ran, in order. Stream 0 computes, the others communicate;
  /// without overlap everything is on stream 0.
  std::vector<std::vector<TraceSpan>> streams;
  /// Bytes of the arena in use; empty if not known.
  std::vector<TraceSample> memory;
  /// Bytes per second that the rank sends; empty if not known.
  std::vector<TraceSample> sending;
};

struct StepTrace {
  std::string program;
  /// "tp=4, measured on cpu" or "tp=4, simulated on h100-sxm"; may be empty.
  std::string setting;
  std::vector<TraceCommand> commands;
  /// The ledger.
  std::vector<ManifestCollective> collectives;
  std::vector<TraceBuffer> buffers;
  /// Of a rank, in bytes; 0 if not known.
  int64_t arenaBytes = 0;
  std::vector<TraceRank> ranks;

  /// When the last command ended; 0 if there is none.
  double seconds() const;
  bool isCollective(const TraceSpan &span) const {
    return commands[span.command].kind == TraceCommand::Kind::Collective;
  }
};

/// The commands, the collectives and the ranks' names of a program, with no
/// spans yet: one command for each of manifest.commands, all of them Compute
/// but for those of the ledger, and without names.
StepTrace emptyTrace(const Manifest &manifest);

/// "rank 3: dp=1 tp=1".
std::string rankName(const RankMesh &mesh, int64_t rank);

/// The memory in use on `rank` over time, from the buffers and the rank's
/// spans; empty if the trace has no buffers.
std::vector<TraceSample> memoryInUse(const StepTrace &trace, int64_t rank);

/// What `rank` sends over time: each collective's bytes evenly over the time
/// that it took, waiting included. A measured collective says no more.
std::vector<TraceSample> averageSending(const StepTrace &trace, int64_t rank);

/// Fills in the memory and the sending of every rank that lacks them.
void fillCounters(StepTrace &trace);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_STEPTRACE_H
