/// A program's collectives, products and memory as polynomials in the names of
/// its indices and axes, derived from the program.
///
/// Layers are calls of one function. Work that each of them has once counts L
/// times, in the formula too. Work absent from the first or last layer counts
/// one time less. Tensors outside the layers count as they are.
#ifndef TPSP_PASSES_EXPLAIN_FORMULAS_H
#define TPSP_PASSES_EXPLAIN_FORMULAS_H

#include "tpsp/Algebra/Formula.h"
#include "tpsp/Algebra/Mesh.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// One line, for one rank.
struct FormulaRow {
  /// "forward   all_gather      over fsdp", "parameters"
  std::string what;
  /// Their number, and their total bytes (sent by a rank with the ring
  /// algorithm, or held) or FLOPs.
  Formula count, amount;
  /// The same, evaluated for the program's extents and sizes.
  int64_t counted = 0;
  double measured = 0;
};

struct ProgramFormulas {
  struct Name {
    std::string name;
    int64_t value = 1;
    /// A note on L: "layer0 to layer31".
    std::string note;
  };
  /// Indices in the program's order, then L, then axes.
  std::vector<Name> names;
  /// "t = s", "q = g r k": names that formulas do not use.
  std::vector<std::string> others;
  std::vector<FormulaRow> collectives, products, memory;
};

/// The formulas of a function with collectives, on global types (after
/// tpsp-fuse-collectives). Buckets and slices are counted as separate
/// collectives.
ProgramFormulas formulasOf(mlir::FunctionOpInterface function,
                           const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_FORMULAS_H
