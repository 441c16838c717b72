/// Values that are made in the memory of others.
#ifndef TPSP_PASSES_PLAN_SUMMEMORY_H
#define TPSP_PASSES_PLAN_SUMMEMORY_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace tpsp {

/// A value, and the value in whose memory it is made: for a sum over
/// micro-batches its zeros.
using SumMemory = llvm::DenseMap<mlir::Value, mlir::Value>;

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_SUMMEMORY_H
