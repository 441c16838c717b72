/// Holds recordings of a run's collectives against a program's ledger.
///
/// A recording is torch's flight recorder as JSON, or the profiler's Chrome
/// trace, one file for each rank, or NCCL's log. Groups of ranks become axes of
/// the mesh. The calls of every rank are matched with the rows of the ledger. A
/// row may be several calls: splits, sums over one axis after another. A call
/// may be several rows: buckets, one sum over several axes. An all_reduce may
/// be a reduce_scatter and an all_gather. Everything else is a finding.
///
/// A recording proves that a sum is missing only if nothing in it could do the
/// same. Otherwise the outcome is `Untold`: the run may have another layout
/// than the program, and the numbers decide.
#ifndef TPSP_CHECK_TRACES_H
#define TPSP_CHECK_TRACES_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/LedgerRow.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Page/Page.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp::check {

/// One collective, or one side of a send, that a rank has recorded.
struct RecordedCall {
  /// Transfer: a send or a receive. None: a collective that the ledger has in
  /// another form, such as a reduce to one rank.
  std::optional<CollectiveKind> kind = CollectiveKind::AllReduce;
  /// As recorded: "nccl:all_reduce".
  std::string name;
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
  /// Whether a transfer receives, and the other rank; -1 if unknown.
  bool isReceive = false;
  int64_t peer = -1;
  /// Backward: in autograd's backward pass. Forward: outside of it, before or
  /// after. None if the recording does not say it.
  std::optional<Phase> phase;
  /// Whether it takes a maximum or a minimum, which adds up nothing.
  bool isExtremum = false;
  /// The innermost line of the user's code, if the recording has it.
  std::string line;
  /// How long it took. Exposed are the seconds of it in which no kernel ran on
  /// the rank but those of collectives. Negative if the recording does not say
  /// it.
  double seconds = -1, exposedSeconds = -1;
};

/// The recording of one rank.
struct Recording {
  std::string path;
  int64_t rank = 0;
  /// The steps that the recording says it has; 0: it does not say.
  int64_t steps = 0;
  /// Entries that a ring buffer has lost before the first one.
  int64_t lost = 0;
  std::vector<RecordedCall> calls;
  /// Calls that are no collective of a step: barriers, broadcasts.
  int64_t others = 0;
  /// Sentences about what was assumed.
  std::vector<std::string> notes;
};

/// Reads a recording entry by entry; it may be larger than memory. The rank is
/// that in the file, or the last number in the file's name, or else `number`.
/// INVALID if the file is something else, or is cut.
rt::Status readRecording(const std::string &path, int64_t number,
                         Recording &out);

/// Reads recordings, one file for each rank, and logs of NCCL, which may have
/// several ranks in a file. The logs are joined: communicators of all files
/// are known by their ids. A communicator of `numRanks` ranks numbers them.
rt::Status readRecordings(const std::vector<std::string> &paths,
                          int64_t numRanks, std::vector<Recording> &out);

enum class TraceFault {
  Missing,     ///< the program needs it
  NotNeeded,   ///< the program does not
  OtherKind,   ///< right, but it sends more
  OtherGroup,  ///< over other axes
  OtherSize,   ///< of another size
  OtherOrder,  ///< ranks of a group disagree: they will wait for each other
  FewerBits,   ///< a sum in a narrower type than the plan's
  OtherWay,    ///< the same sum or the same data in another way
  UnknownSteps ///< the recording has an unknown number of steps
};

/// The verdict on a recording, from the best to the worst.
enum class TraceOutcome { Right, Untold, Wrong };

} // namespace tpsp::check

namespace tpsp {
template <> struct EnumNames<check::TraceFault> {
  static constexpr const char *all[] = {
      "missing",     "not needed", "other kind", "other group",  "other size",
      "other order", "fewer bits", "other way",  "unknown steps"};
};
template <> struct EnumNames<check::TraceOutcome> {
  static constexpr const char *all[] = {"right", "cannot be told", "wrong"};
};
} // namespace tpsp

namespace tpsp::check {

struct TraceFinding {
  TraceFault fault = TraceFault::Missing;
  /// Right: it costs time and changes no number.
  TraceOutcome outcome = TraceOutcome::Wrong;
  /// A sentence.
  std::string text;
  /// Why the recording does not prove it; empty if it does.
  std::string doubt;
  /// The collective of the ledger, its rule and the line of the model; empty if
  /// it has none.
  std::string collective, rule, location;
  /// The mesh axes of that collective.
  std::vector<std::string> axes;
  /// The line of the recorded call.
  std::string line;
  /// How many like it there are on each of these ranks, which are ascending.
  int64_t times = 1;
  std::vector<int64_t> ranks;
};

/// How long a described machine takes for the collectives of a plan.
struct PredictedTimes {
  /// The machine's name; empty without one.
  std::string machine;
  /// By row of the ledger: seconds, each time.
  std::vector<double> seconds;
};

/// How long the calls of a row took, over all ranks and steps. Rows that differ
/// in their layer alone are one.
struct CollectiveTime {
  /// The collective of the ledger and the line of the model; of a call for
  /// several rows, those of the first.
  std::string collective, location;
  /// How often it was timed.
  int64_t count = 0;
  /// Seconds: the mean, the least and the most. They include waiting for ranks
  /// that come later.
  double mean = 0, least = 0, most = 0;
  /// The mean of the seconds in which no kernel ran on the rank but those of
  /// collectives.
  std::optional<double> exposed;
  std::optional<double> predicted;
};

struct TraceReport {
  std::vector<std::string> files;
  /// The recorded ranks, ascending, and the number of the mesh's ranks.
  std::vector<int64_t> ranks;
  int64_t meshRanks = 0;
  /// Calls of a step on the first rank, and those that were matched with rows.
  int64_t calls = 0, matched = 0;
  /// Steps that the recording has.
  int64_t steps = 1;
  /// The worst first.
  std::vector<TraceFinding> findings;
  std::vector<std::string> notes;
  /// The machine of the predictions; empty without one.
  std::string machine;
  /// In program order; empty if the recordings have no times.
  std::vector<CollectiveTime> times;
  /// The ranks whose times these are, times their steps.
  int64_t timedSteps = 0;

  /// Right only if something was matched.
  TraceOutcome outcome() const;
};

/// Compares the recordings with each other and with the plan's ledger. `steps`
/// is the number of steps that each recording has; 0: as the recordings say.
rt::Status checkTraces(const Plan &plan, std::vector<Recording> recordings,
                       int64_t steps, TraceReport &report,
                       const PredictedTimes &predicted = {});

std::string toText(const TraceReport &report);
std::string toJson(const TraceReport &report);
/// The same for a page.
rt::PageCheck toPageCheck(const TraceReport &report);

} // namespace tpsp::check

#endif // TPSP_CHECK_TRACES_H
