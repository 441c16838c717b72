/// The ledger of a plan: for every collective, what it moves, and why.
#ifndef TPSP_ABI_LEDGERROW_H
#define TPSP_ABI_LEDGERROW_H

#include "tpsp/Abi/CommandKind.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

/// The phases of a step, in order.
enum class Phase { Forward, Backward, Update };

template <> struct EnumNames<Phase> {
  static constexpr const char *all[] = {"forward", "backward", "update"};
};

/// The facts of one collective.
///
/// A new fact is declared here, named in visitFacts(), set by ledgerOf()
/// (Passes/Collectives/Ledger.h) and, if people shall see it, printed by
/// ledgerText() (Driver/Report/LedgerText.h). The attribute #plan.ledger, plan
/// files and reports have the facts that visitFacts() names.
struct LedgerRow {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::vector<std::string> axes;
  /// The index that moves: "s", or "s -> h" for an all_to_all; empty for an
  /// all_reduce.
  std::string index;
  Phase phase = Phase::Forward;
  int64_t bytes = 0; ///< sent per rank by the ring algorithm, each time
  int64_t times = 1; ///< how often a step performs it
  int64_t group = 1; ///< ranks that take part
  std::string tensor;
  std::string reason; ///< the rule that asked for it
  /// The numbers of the arguments whose gradients it moves, ascending. Empty if
  /// it moves anything else. A collective of gradients may run once a step,
  /// after the micro-batches' gradients were added up.
  std::vector<int64_t> gradients;
  /// The stages whose ranks take part, ascending; empty: all ranks do.
  std::vector<int64_t> stages;

  /// The share of its time that must be hidden, if the program requires one.
  std::optional<double> overlap;
  /// The number of the collective that was cut into parts, of which this is
  /// one; else -1.
  int64_t whole = -1;
  /// "model.mlir:12:8", or empty.
  std::string location;
  /// The commands that perform it, ascending; several if it was cut.
  std::vector<int64_t> commands;

  /// Calls `visit(name, field)` for every fact that reports show.
  template <typename Row, typename Visit>
  static void visitFacts(Row &row, Visit &&visit) {
    visit("kind", row.kind);
    visit("axes", row.axes);
    visit("index", row.index);
    visit("phase", row.phase);
    visit("bytes", row.bytes);
    visit("times", row.times);
    visit("group", row.group);
    visit("tensor", row.tensor);
    visit("reason", row.reason);
    visit("gradients", row.gradients);
    visit("stages", row.stages);
  }
  /// Calls `visit(name, field)` for these, and for the facts that only the
  /// compiler needs.
  template <typename Row, typename Visit>
  static void visitAll(Row &row, Visit &&visit) {
    visitFacts(row, visit);
    visit("overlap", row.overlap);
    visit("whole", row.whole);
  }
};

} // namespace tpsp

#endif // TPSP_ABI_LEDGERROW_H
