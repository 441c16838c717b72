/// A program's collectives, products and memory as polynomials in the names of
/// its indices and axes, read off the program.
///
/// Layers are calls of one function. What comes once in each of them counts L
/// times, in the formula too. Of what the first or the last layer lacks there
/// is one less. Tensors that a program has beside its layers count as they are.
#ifndef TPSP_PASSES_EXPLAIN_FORMULAS_H
#define TPSP_PASSES_EXPLAIN_FORMULAS_H

#include "tpsp/Algebra/Formula.h"
#include "tpsp/Algebra/Mesh.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// One line, of one rank.
struct FormulaRow {
  /// "forward   all_gather      over fsdp", "parameters"
  std::string what;
  /// How many there are, and their bytes (sent by a rank, by the ring
  /// algorithm, or held) or FLOPs together.
  Formula count, amount;
  /// The same, counted for the extents and sizes that the program has.
  int64_t counted = 0;
  double measured = 0;
};

struct ProgramFormulas {
  struct Name {
    std::string name;
    int64_t value = 1;
    /// "layer0 to layer31", of L.
    std::string note;
  };
  /// Indices in the program's order, L, and axes.
  std::vector<Name> names;
  /// "t = s", "q = g r k": names that formulas do not use.
  std::vector<std::string> others;
  std::vector<FormulaRow> collectives, products, memory;
};

/// Of a function whose collectives are there, on global types (after
/// tpsp-fuse-collectives). Buckets and slices are counted as the collectives
/// that they are.
ProgramFormulas formulasOf(mlir::FunctionOpInterface function,
                           const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_FORMULAS_H
