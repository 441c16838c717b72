/// Facts about the lines of a program's text, for editors: the placements of
/// the tensors that a line defines, and the collectives that it needs.
#ifndef TPSP_PASSES_EXPLAIN_LINEFACTS_H
#define TPSP_PASSES_EXPLAIN_LINEFACTS_H

#include "tpsp/Abi/LedgerRow.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace tpsp {

/// A tensor that a line defines. Tensors of several layers that lie alike are
/// one fact.
struct TensorFact {
  std::string name;       ///< as in the source, without %: "xn"
  std::string subscripts; ///< "b, s@tp, d"
  std::string element;    ///< "f32"
  std::vector<int64_t> extents;
  int64_t localBytes = 0; ///< one rank's part
  int64_t times = 1;      ///< how many tensors lie so

  bool isAlike(const TensorFact &other) const {
    return name == other.name && subscripts == other.subscripts;
  }
};

/// A collective that a line needs. Equal ones of several layers are one fact.
struct CollectiveFact {
  LedgerRow row;
  /// "xn", or "g[xn]" for its gradient. Without the layer's name; a number in a
  /// parameter's name is "#".
  std::string tensor;
  /// The subscripts before and after: "b, s@tp, d" and "b, s, d".
  std::string from, to;
  int64_t times = 1;

  bool isAlike(const CollectiveFact &other) const {
    return row.phase == other.row.phase && row.kind == other.row.kind &&
           row.axes == other.row.axes && row.bytes == other.row.bytes &&
           tensor == other.tensor && from == other.from && to == other.to;
  }
};

struct LineFact {
  std::vector<TensorFact> tensors;
  std::vector<CollectiveFact> collectives;
};

/// Facts by line, from 1.
using LineFacts = std::map<unsigned, LineFact>;

/// The facts of a module whose values have their source names
/// (nameValues()). Collectives are found in a module that has them. Without
/// them, tensors lie as they are written.
LineFacts lineFactsOf(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_LINEFACTS_H
