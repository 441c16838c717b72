/// What no candidate under a node of the space can beat: seconds and bytes,
/// from the index structure alone.
///
/// - Compute: every product, forward and backward, takes what the cost model
///   says of its shape, divided along one of the indices that each axis may
///   divide: the one that is best. Axes not yet chosen divide all but the
///   launch. An update reads and writes its tensors once.
/// - Links: on a data axis gradients are reduced, and parameters that are
///   stored divided are gathered. On a model axis what is not linear is made of
///   completed sums. Each axis is taken alone, at its links' best rate; the
///   slowest counts. Communication may hide under computation, so the longer of
///   the two counts, or without overlap the sum.
/// - Memory: parameters and, by what remains at the end, gradients and state.
#ifndef TPSP_PLANNER_BOUNDS_H
#define TPSP_PLANNER_BOUNDS_H

#include "tpsp/Planner/Space.h"
#include "tpsp/Schedule/CostModel.h"

#include <map>
#include <tuple>

namespace tpsp::planner {

struct Bound {
  double seconds = 0;
  /// Of one rank.
  int64_t bytes = 0;
};

struct BoundOptions {
  int64_t devices = 1;
  bool hasGradients = false;
  /// Whether gradients are results, and stay to the end of the step.
  bool keepsGradients = false;
  /// Whether attention is done in one call, where it can be.
  bool callsAttention = false;
  /// Whether communication may run under computation.
  bool overlaps = false;
  /// The optimizer's state, over all parameters unsharded.
  int64_t stateBytes = 0;
};

class Bounds {
public:
  /// Copies what it needs.
  Bounds(ProgramFacts facts, Hardware hardware, BoundOptions options);

  Bound of(const SpaceNode &node) const;

private:
  double computeSeconds(const SpaceNode &node) const;
  double productSeconds(const ProductFacts &product,
                        const SpaceNode &node) const;
  double shapeSeconds(const ProductFacts &product,
                      const std::vector<int64_t> &parts) const;
  double attentionSeconds(const ProductFacts &product,
                          const SpaceNode &node) const;
  double callSeconds(const ProductFacts &product, double parts) const;
  double updateSeconds(const SpaceNode &node) const;
  double alone(const MatmulWork &work, int64_t dtype) const;
  double dataSeconds(const SpaceNode &node, unsigned axis) const;
  double modelSeconds(const SpaceNode &node, unsigned axis) const;
  int64_t memoryBytes(const SpaceNode &node) const;
  double localBytes(const TensorFacts &tensor, const SpaceNode &node) const;
  /// Seconds a byte of a collective along one axis, at the best of all sizes.
  double secondsPerByte(CollectiveKind kind, const SpaceNode &node,
                        unsigned axis) const;
  double bestAttentionRate(const ProductFacts &product) const;

  ProgramFacts facts;
  BoundOptions options;
  /// On a mesh of one axis that has all devices; only rates are asked of it.
  CostModel cost;
  mutable std::map<std::tuple<CollectiveKind, int64_t, int64_t, int64_t>,
                   double>
      rates;
  /// By product, and the parts that its dimensions are divided into.
  mutable std::map<std::pair<const ProductFacts *, std::vector<int64_t>>,
                   double>
      shapes;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_BOUNDS_H
