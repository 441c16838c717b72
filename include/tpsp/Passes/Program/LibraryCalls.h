/// Which operations a library computes in one call.
#ifndef TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
#define TPSP_PASSES_PROGRAM_LIBRARYCALLS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Algebra/AttentionHeads.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Whether a backend's library computes `op` as a whole (plan.attention). The
/// library is a GPU's if the plan is for one, else the CPU backend's own. If
/// only an operation's shapes or types prevent that, a remark says so. The
/// remark's category is `pass`, the argument of the pass that asks.
bool isLibraryCall(mlir::Operation *op, bool forGpu, llvm::StringRef pass);

/// Attention that a library does not compute, at one place of the source. It
/// keeps the scores of all queries and keys in memory.
struct KeptScores {
  /// The first of the equal attentions, as layers have.
  mlir::Operation *first = nullptr;
  int64_t count = 1;
  /// Bytes of the scores of one of them on all ranks together, forward.
  double bytes = 0;
  /// Why no call computes it.
  std::string obstacle;

  /// "model.mlir:12: "; empty if the place is not known.
  std::string line() const;
  /// For people: "keeps its scores in memory, 4.0 GiB over all ranks: cuDNN has
  /// no such attention: it has a bias".
  std::string text() const;
};

/// The attentions below `root` that keep at least 64 MiB of scores, although
/// calls are asked for. They are in the order of the source.
llvm::SmallVector<KeptScores> keptScores(mlir::Operation *root, bool forGpu);

/// The work of such a call, with queries that start at key 0.
AttentionWork attentionWork(AttentionOpInterface op,
                            const AttentionHeads &heads);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
