/// Least seconds of collectives, the parts of the planner's bounds (Bounds.h):
/// by tensor, by axis and by tier of links. All times are in seconds and of one
/// step, unless they say otherwise.
#ifndef TPSP_PLANNER_LINKTIMES_H
#define TPSP_PLANNER_LINKTIMES_H

#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tpsp::planner {

/// Seconds for one tensor: gathers before its use, the scattering of its
/// gradient, and the completion of the gradient or of the new parameter. Each
/// is a command of its own.
struct TensorTime {
  double gathering = 0, scattering = 0, completing = 0;

  double seconds() const { return gathering + atEnd(); }
  /// With stages, these run once a step, under the last micro-batch or after
  /// it.
  double atEnd() const { return scattering + completing; }
  void operator+=(const TensorTime &other) {
    gathering += other.gathering;
    scattering += other.scattering;
    completing += other.completing;
  }
  /// Combines axes: one collective may run along all of them.
  void raiseTo(const TensorTime &other) {
    gathering = std::max(gathering, other.gathering);
    scattering = std::max(scattering, other.scattering);
    completing = std::max(completing, other.completing);
  }
};

/// The ways in which the compiler may choose a tensor's commands.
using TensorTimes = llvm::SmallVector<TensorTime, 2>;

/// The tier of links that certain collectives surely use. A collective inside
/// a node uses other links than a collective that leads to other nodes.
enum class LinkTier { Inside, Between, Unknown };

inline constexpr LinkTier linkTiers[] = {LinkTier::Inside, LinkTier::Between,
                                         LinkTier::Unknown};

/// Least seconds of collectives.
struct LinkTime {
  /// Seconds one after another, and the part of them in equal layers.
  double serial = 0, ofLayers = 0;
  /// The parts of `serial` that are surely inside a node, and between nodes.
  double inside = 0, between = 0;
  /// Seconds of the busiest axis. If communicators share no links, a step
  /// takes at least this time.
  double ofAxis = 0;

  void add(double seconds, LinkTier tier) {
    inside += tier == LinkTier::Inside ? seconds : 0;
    between += tier == LinkTier::Between ? seconds : 0;
  }
  void addSerial(double seconds, double inLayers) {
    serial += seconds;
    ofLayers += inLayers;
  }
  void operator+=(const LinkTime &other) {
    serial += other.serial;
    ofLayers += other.ofLayers;
    inside += other.inside;
    between += other.between;
    ofAxis = std::max(ofAxis, other.ofAxis);
  }
};

struct DataTime {
  LinkTime all;
  /// The part of `all` for gradients and for the update: see TensorTime.
  LinkTime atEnd;
};

/// The place of a collective that runs along an axis and others, given by
/// position.
struct SharedPlace {
  GroupPlace place;
  llvm::SmallVector<unsigned, 2> others;
};

/// A data axis, with the possible places of its collectives: those that
/// reduce, those that divide or gather parameters, and those that gather
/// activations.
struct DataAxis {
  unsigned position = 0;
  std::vector<GroupPlace> reducing, dividing;
  std::vector<SharedPlace> gathering;
  LinkTier tier = LinkTier::Unknown;
};

/// The possible places of a collective along certain axes.
struct StoringPlaces {
  std::vector<GroupPlace> places;
  LinkTier tier = LinkTier::Unknown;
};

/// Least seconds for a tensor that several axes store: of all commands, of
/// those that are surely inside nodes, and of those between nodes.
struct StoredTime {
  TensorTime all, inside, between;
};

/// Seconds of a tensor's commands for one micro-batch.
struct TensorLinks {
  /// By axis, in all ways that the compiler may choose.
  llvm::SmallVector<TensorTimes, 3> times;
  /// Along several axes that store it.
  StoredTime stored;
  /// Whether all storing axes divide one of its dimensions.
  bool isStoredTogether = false;
};

/// The facts of a node that all its settings share.
struct DataLinks {
  std::vector<DataAxis> axes;
  /// By set of `axes`, as bits; empty unless several axes store parameters.
  std::vector<StoringPlaces> storingPlaces;
  /// The number of axes that store parameters.
  size_t storing = 0;
  /// By tensor; empty without gradients.
  std::vector<TensorLinks> tensors;
};

/// Seconds of all commands along a data axis.
struct AxisSums {
  LinkTier tier = LinkTier::Unknown;
  double seconds = 0, atEnd = 0;
};

/// Seconds of all tensors.
struct DataSums {
  /// By axis of the DataLinks.
  llvm::SmallVector<AxisSums, 3> axes;
  /// Seconds for tensors that several axes store, and for those that they
  /// store along one dimension.
  double stored = 0, storedTogether = 0;
  DataTime time;
};

/// Seconds of one tensor on each tier.
struct TimeByTier {
  TensorTime times[std::size(linkTiers)];
  TensorTime &of(LinkTier tier) { return times[size_t(tier)]; }
};

/// A model axis, with the possible places of its collectives.
struct ModelAxis {
  unsigned position = 0;
  std::vector<SharedPlace> places;
  LinkTier tier = LinkTier::Unknown;
  /// Bytes of a gradient, from narrowestBytes().
  double narrowest = 0;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_LINKTIMES_H
