/// Which dimensions of a view's operand and result are equal, or share a major
/// part.
///
///   split [s, e] -> [s, h, k]     s with s; e, of k positions each, with h
///
/// Positions of e = (h, k) from a multiple of k on are positions of h from some
/// position on. Positions of the minor part k recur throughout e.
#ifndef TPSP_PASSES_PROGRAM_VIEWTIES_H
#define TPSP_PASSES_PROGRAM_VIEWTIES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// A dimension of the operand and one of the result with the same major part.
struct ViewTie {
  llvm::StringRef from, to;
  /// The number of positions that each has for one position of the major part.
  int64_t fromRun, toRun;
};

llvm::SmallVector<ViewTie> viewTies(IndexedOpInterface view);

/// Names of the dimensions, of operand or result, that are minor parts.
llvm::SmallVector<llvm::StringRef> minorParts(IndexedOpInterface view);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_VIEWTIES_H
