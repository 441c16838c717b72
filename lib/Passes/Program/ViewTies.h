/// Which dimensions of a view's operand and result are one, or begin with one.
///
///   split [s, e] -> [s, h, k]     s with s; e, of k positions each, with h
///
/// Positions of e = (h, k) from a multiple of k on are those of h from a
/// position on. Of the minor part k positions recur in e.
#ifndef TPSP_PASSES_PROGRAM_VIEWTIES_H
#define TPSP_PASSES_PROGRAM_VIEWTIES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// A dimension of the operand and one of the result with the same major part.
struct ViewTie {
  llvm::StringRef from, to;
  /// How many positions each has for one of the major part.
  int64_t fromRun, toRun;
};

llvm::SmallVector<ViewTie> viewTies(IndexedOpInterface view);

/// Names of the dimensions, of operand or result, that are minor parts.
llvm::SmallVector<llvm::StringRef> minorParts(IndexedOpInterface view);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_VIEWTIES_H
