/// Holds recordings of a run's collectives against a program's ledger.
///
/// A recording is torch's flight recorder as JSON, or the profiler's Chrome
/// trace, one file for each rank. Groups of ranks become axes of the mesh. Per
/// axes, the recorded calls are matched with the rows of the ledger: one to
/// one, several to one (splits) and one to several (buckets). An all_reduce may
/// be a reduce_scatter and an all_gather. The rest is findings.
#ifndef TPSP_CHECK_TRACES_H
#define TPSP_CHECK_TRACES_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp::check {

/// One collective that a rank has recorded.
struct RecordedCall {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// The ranks of its group, ascending; empty if the recording lacks them.
  std::vector<int64_t> ranks;
  /// The group's description, such as "mesh_tp", and its size; 0 if unknown.
  std::string group;
  int64_t groupSize = 0;
  /// Elements of the whole tensor: of a gather's result, of another call's
  /// operand. Tensors of one call are added up.
  int64_t elements = 0;
  /// Bytes of an element; 0 if unknown.
  int64_t elementBytes = 0;
  /// The innermost line of the user's code, if the recording has it.
  std::string line;
};

/// The recording of one rank.
struct Recording {
  std::string path;
  int64_t rank = 0;
  std::vector<RecordedCall> calls;
  /// Calls that are no collective of a step: barriers, broadcasts, sends.
  int64_t others = 0;
};

/// Reads a recording. The rank is that in the file, or the last number in the
/// file's name, or else `number`. INVALID if the file is something else, or is
/// cut.
rt::Status readRecording(const std::string &path, int64_t number,
                         Recording &out);

enum class TraceFault {
  Missing,    ///< the program needs it
  NotNeeded,  ///< the program does not
  OtherKind,  ///< right, but it sends more
  OtherGroup, ///< over other axes
  OtherSize,  ///< of another size
  OtherOrder, ///< ranks of a group disagree: they will wait for each other
  FewerBits   ///< a sum in a narrower type than the plan's
};

} // namespace tpsp::check

namespace tpsp {
template <> struct EnumNames<check::TraceFault> {
  static constexpr const char *all[] = {
      "missing",    "not needed",  "other kind", "other group",
      "other size", "other order", "fewer bits"};
};
} // namespace tpsp

namespace tpsp::check {

struct TraceFinding {
  TraceFault fault = TraceFault::Missing;
  /// A sentence.
  std::string text;
  /// The collective of the ledger, its rule and the line of the model; empty if
  /// it has none.
  std::string collective, rule, location;
  /// The line of the recorded call.
  std::string line;
  /// How many like it there are.
  int64_t times = 1;
};

struct TraceReport {
  std::vector<std::string> files;
  /// Calls of a step on one rank, and those that were matched with rows.
  int64_t calls = 0, matched = 0;
  /// Steps that the recording has.
  int64_t steps = 1;
  std::vector<TraceFinding> findings;
  std::vector<std::string> notes;

  /// Whether something was matched and nothing is wrong. A dear collective is
  /// not wrong.
  bool isRight() const;
};

/// Compares the recordings with each other and with the plan's ledger.
rt::Status checkTraces(const Plan &plan, std::vector<Recording> recordings,
                       TraceReport &report);

std::string toText(const TraceReport &report);
std::string toJson(const TraceReport &report);

} // namespace tpsp::check

#endif // TPSP_CHECK_TRACES_H
