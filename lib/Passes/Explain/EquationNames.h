/// Names of tensors in equations: every name means one tensor.
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONNAMES_H
#define TPSP_PASSES_EXPLAIN_EQUATIONNAMES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace tpsp {

class EquationNames {
public:
  /// As in the source: "xn", "layer0.xn", "g[xn]". A summand of g[xn] that
  /// comes through q is "g[xn].q"; a part of the adjoint of m is "m'.mul". A
  /// value that the source has no name for is numbered. A name that another
  /// tensor has already gets a number: "xn#2".
  const std::string &of(mlir::Value value);

private:
  std::string wish(mlir::Value value);
  std::string unlike(std::string wished, mlir::Value value);

  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<unsigned> taken;
  unsigned numbered = 0;
};

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONNAMES_H
