/// The ledger of a plan says of every collective what it moves, and why.
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

/// What there is to say of one collective.
///
/// A new fact is declared here, named in visitFacts(), set by ledgerOf()
/// (Passes/Collectives/Ledger.h) and, where people shall see it, printed by
/// ledgerText() (Driver/LedgerText.h). The attribute #plan.ledger, plan files
/// and reports have whatever visitFacts() names.
struct LedgerRow {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::vector<std::string> axes;
  /// That moves: "s", or "s -> h" of an all_to_all; empty for all_reduce.
  std::string index;
  Phase phase = Phase::Forward;
  int64_t bytes = 0; ///< sent per rank by the ring algorithm
  int64_t group = 1; ///< ranks that take part
  std::string tensor;
  std::string reason; ///< the rule that asked for it
  /// The numbers of the arguments whose gradients it moves, ascending. Empty if
  /// it moves anything that becomes something else. What it moves is done once
  /// a step: gradients of micro-batches may be added up first.
  std::vector<int64_t> gradients;

  /// The share of it that must be hidden, if the program requires one.
  std::optional<double> overlap;
  /// Of a collective that was cut into parts: its number; else -1.
  int64_t whole = -1;
  /// "model.mlir:12:8", or empty.
  std::string location;
  /// The commands that perform it, ascending; several if it was cut.
  std::vector<int64_t> commands;

  /// Calls `visit(name, field)` for all that is said of a collective.
  template <typename Row, typename Visit>
  static void visitFacts(Row &row, Visit &&visit) {
    visit("kind", row.kind);
    visit("axes", row.axes);
    visit("index", row.index);
    visit("phase", row.phase);
    visit("bytes", row.bytes);
    visit("group", row.group);
    visit("tensor", row.tensor);
    visit("reason", row.reason);
    visit("gradients", row.gradients);
  }
  /// And for what the compiler needs to know besides.
  template <typename Row, typename Visit>
  static void visitAll(Row &row, Visit &&visit) {
    visitFacts(row, visit);
    visit("overlap", row.overlap);
    visit("whole", row.whole);
  }
};

} // namespace tpsp

#endif // TPSP_ABI_LEDGERROW_H
