/// A program's layers as one function for each stage's chunk.
///
///   %x0 = tpsp.embedding %tokens, %table      with two stages of one chunk:
///   %x1 = call @layer(%x0, %w0)          f_chunk0(tokens, table, w0) -> x1
///   %x2 = call @layer(%x1, %w1)          f_chunk1(x1, w1, table) -> loss
///   %l  = tpsp.einsum %table, %x2
///   return %l
///
/// Every other operation is in the first chunk that uses its result.
#ifndef TPSP_PLANNING_STAGECUT_H
#define TPSP_PLANNING_STAGECUT_H

#include "tpsp/Passes/Program/StageAssignment.h"

namespace tpsp {

struct StageChunk {
  mlir::func::FuncOp function;
  /// The number of layers that it calls.
  int64_t layers = 0;
  /// The first `received` arguments come from the previous chunk, and the first
  /// `sent` results go to the next.
  size_t received = 0, sent = 0;
  /// The number of each further argument in the program's function.
  llvm::SmallVector<unsigned> arguments;
};

/// Replaces `program` in its module by its chunks, in their order. The module's
/// mesh has an axis of role `stage`. Fails with a located error if the layers
/// do not divide as wanted, or if a value between chunks is not placed.
mlir::FailureOr<llvm::SmallVector<StageChunk>>
cutStages(mlir::func::FuncOp program, const StageCut &cut);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGECUT_H
