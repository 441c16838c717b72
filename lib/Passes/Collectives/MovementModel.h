// What a step moves, by the placements that values have.
#ifndef TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H
#define TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H

#include "Passes/Program/Placed.h"
#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tpsp {

/// What some operations move, and how long that takes.
struct Movement {
  /// Bytes that the forward collectives send per rank.
  int64_t bytes = 0;
  /// Seconds of the whole step; 0 without a cost model.
  double seconds = 0;
};

/// Seconds of one rank's part of a product of two operands, which have these
/// placements; of any other operation 0.
double productSeconds(IndexedOpInterface op, llvm::ArrayRef<Placement> operands,
                      const Mesh &mesh, const CostModel &cost);

/// How a schedule hides collectives, as far as the choice asks.
struct OverlapRule {
  bool grad;
  /// Whether transfers go under products at all.
  bool overlap;

  /// Seconds of a step that `seconds` of a collective leave exposed, forward
  /// and backward, beside products that take `products` forward. A gather or a
  /// scatter is cut with its products (docs/Overlap.md), all but the piece
  /// that a rank has. An all-reduce has nothing to go under: a norm waits for
  /// it. Backward it goes under the weight's gradient.
  double exposed(CollectiveKind kind, double seconds, double products,
                 int64_t group) const;
};

/// What a step moves and how long that takes, by the placements that values
/// have now.
class MovementModel {
public:
  /// Without a cost, only bytes. `pending`: operations whose result comes out
  /// pending, which compute the same wherever it is wanted.
  MovementModel(const Mesh &mesh, const std::optional<CostModel> &cost,
                OverlapRule rule,
                const llvm::DenseMap<mlir::Operation *, bool> &pending)
      : mesh(mesh), cost(cost), rule(rule), passes(rule.grad ? 3 : 1),
        pending(pending) {}

  /// What the operations' forward collectives send, and how long the operations
  /// of the set and all collectives take. A movement that several operations
  /// need counts once. Backward every collective has its dual, which takes as
  /// long. (It is an all-reduce where forward there is nothing, and the other
  /// way round.) What computes does it twice.
  Movement movementOf(llvm::ArrayRef<mlir::Operation *> ops) const;

private:
  double computeSeconds(IndexedOpInterface op) const;
  void add(Movement &sum, mlir::Value value, const Placement &from,
           const Placement &to, double products) const;
  int64_t localBytes(mlir::RankedTensorType type, const Placement &placement,
                     int64_t width) const;

  const Mesh &mesh;
  const std::optional<CostModel> &cost;
  OverlapRule rule;
  /// Forward, and the two halves of backward.
  int passes;
  const llvm::DenseMap<mlir::Operation *, bool> &pending;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H
