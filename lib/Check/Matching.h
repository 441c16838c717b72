/// The rows of a ledger and the calls that one rank has recorded, matched with
/// each other.
///
/// The steps are: rows and calls of one kind and size (matchExactly), other
/// ways to the same result (matchOtherWays), and findings about the rest
/// (concludeMatching).
#ifndef TPSP_LIB_CHECK_MATCHING_H
#define TPSP_LIB_CHECK_MATCHING_H

#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Traces.h"

namespace tpsp::check {

/// Positions of mesh axes, ascending.
using Axes = std::vector<int64_t>;

/// A call of so few elements is a norm, a loss or a log's number.
constexpr int64_t fewElements = 8;

/// Whether all of `others` are in `axes`.
bool contains(const Axes &axes, const Axes &others);
Axes without(const Axes &axes, const Axes &others);
Axes joined(const Axes &axes, const Axes &others);
/// Those of more than one rank. No recording shows the others.
Axes wide(const rt::RankMesh &mesh, Axes axes);

constexpr bool isSum(std::optional<CollectiveKind> kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

/// A row of the ledger, once for each time that a step performs it.
struct Need {
  const LedgerRow *row = nullptr;
  Axes axes;
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// See RecordedCall.
  int64_t elements = 0, elementBytes = 0;
  bool isMatched = false;
};

/// A recorded call.
struct Made {
  const RecordedCall *call = nullptr;
  /// The axes of its group, if that is a group of the mesh; of a transfer,
  /// those along which the two ranks differ.
  std::optional<Axes> axes;
  /// The axes along which any of its ranks differ; all axes if its ranks are
  /// unknown.
  Axes touched;
  bool isMatched = false;
  /// Whether a finding about a row names it.
  bool isNamed = false;

  bool isOver(const Axes &other) const { return axes && *axes == other; }
};

/// A sum that the run makes over some of the axes that the program needs.
struct PartialSum {
  const Need *need = nullptr;
  Axes done, missing;
  const RecordedCall *call = nullptr;
};

struct Matching {
  /// Both must outlive this object.
  Matching(const Plan &plan, const rt::RankMesh &mesh)
      : plan(plan), mesh(mesh) {}

  const Plan &plan;
  const rt::RankMesh &mesh;
  /// In program order, and in the recording's.
  std::vector<Need> needs;
  std::vector<Made> calls;
  /// Entries that the recorder has lost, so that nothing is surely missing.
  int64_t lost = 0;

  std::vector<PartialSum> partial;
  std::vector<TraceFinding> findings;
  std::vector<std::string> notes;
  int64_t matched = 0;
  /// The rows and calls that were matched with each other.
  std::vector<std::pair<const Need *, const RecordedCall *>> pairs;

  /// Adds every row in which a rank takes part, as often as `steps` steps
  /// perform it.
  void addRows(int64_t rank, int64_t steps);
  /// Marks both. A sum in a narrower type than the row's is a finding.
  void match(Need &need, Made &made);
  /// Adds a finding about a row, a call or both, either of which may be null.
  /// Findings with one text are counted.
  TraceFinding &addFinding(TraceFault fault, TraceOutcome outcome,
                           std::string text, const Need *need,
                           const RecordedCall *call);
  /// Adds a note, once.
  void addNote(std::string note);
};

/// Matches rows and calls of the same axes and sizes, if possible in order. An
/// all_reduce may be in two halves. A row may be in several calls, and several
/// rows in one. An all_reduce may be in place of a reduce_scatter.
void matchExactly(Matching &matching);

/// Matches other ways to the same result. Sums may be over axes one after
/// another or at once, and in buckets. Gathers may be repeated, kept, or only
/// cost time. Data may be sent from rank to rank.
void matchOtherWays(Matching &matching);

/// Adds findings about rows and calls that are left.
void concludeMatching(Matching &matching);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_MATCHING_H
