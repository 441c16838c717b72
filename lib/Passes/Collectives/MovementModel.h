// Estimates what a step sends and the seconds that stay exposed, from the
// placements of its values, before there is a plan.
#ifndef TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H
#define TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H

#include "Passes/Program/Placed.h"
#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tpsp {

/// The bytes that some operations send, and their time.
struct Movement {
  /// Bytes that the forward collectives send per rank.
  int64_t bytes = 0;
  /// Seconds of the whole step; 0 without a cost model.
  double seconds = 0;
};

/// Seconds of one rank's part of a product of two operands in these placements;
/// 0 for any other operation.
double productSeconds(IndexedOpInterface op, llvm::ArrayRef<Placement> operands,
                      const Mesh &mesh, const CostModel &cost);

/// How a schedule hides collectives, as far as the choice needs to know.
struct OverlapRule {
  bool grad;
  /// Whether transfers overlap with products at all.
  bool overlap;

  /// Seconds of a step, forward and backward, for which a collective of
  /// `seconds` stays exposed next to products that take `products` seconds
  /// forward. A gather or a scatter is cut with its products (docs/Overlap.md),
  /// except the piece that a rank already has. Nothing hides an all-reduce in
  /// the forward pass, because a norm waits for it. In the backward pass the
  /// weight's gradient hides it.
  double exposed(CollectiveKind kind, double seconds, double products,
                 int64_t group) const;
};

/// Estimates bytes and time of a step, from the placements that values have
/// now.
class MovementModel {
public:
  /// Without a cost model only bytes are computed. `pending`: operations whose
  /// result is computed pending. Their work does not depend on the placement
  /// that is wanted.
  MovementModel(const Mesh &mesh, const std::optional<CostModel> &cost,
                OverlapRule rule,
                const llvm::DenseMap<mlir::Operation *, bool> &pending)
      : mesh(mesh), cost(cost), rule(rule), passes(rule.grad ? 3 : 1),
        pending(pending) {}

  /// The bytes of the operations' forward collectives, and the time of all
  /// collectives and of the operations in the set. A movement that several
  /// operations need counts once. In the backward pass every collective has its
  /// dual, which takes as long. (The dual is an all-reduce if the forward pass
  /// sends nothing, and the other way round.) Computation counts twice in the
  /// backward pass.
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
  /// Passes over the operations: forward, and the two halves of backward.
  int passes;
  const llvm::DenseMap<mlir::Operation *, bool> &pending;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_MOVEMENTMODEL_H
