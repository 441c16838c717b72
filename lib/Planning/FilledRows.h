/// The largest share of experts' places that can have tokens.
///
///   %rows = dispatch %choice, %load, %x    32 tokens of 2 choices in 4 blocks
///       -> [j, g, c, d]                    of 24 rows: two of three are filled
///   %up = one_hot_einsum %w, %rows         as are those of this product
#ifndef TPSP_PLANNING_FILLEDROWS_H
#define TPSP_PLANNING_FILLEDROWS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace tpsp {

class FilledRows {
public:
  /// Notes an operation. Must be called in program order.
  void note(IndexedOpInterface op, const IndexStructure &structure);

  /// The largest share of the value's rows that hold tokens; 1 if its rows are
  /// not places.
  double shareOf(mlir::Value value) const;

private:
  struct Share {
    /// The dimension of the places.
    unsigned dim = 0;
    double share = 1;
  };

  void notePlaces(IndexedOpInterface op, const IndexStructure &structure);

  llvm::DenseMap<mlir::Value, Share> filled;
};

} // namespace tpsp

#endif // TPSP_PLANNING_FILLEDROWS_H
