/// Finds leaves that are likely to give a good plan. A good plan that is found
/// early excludes other leaves, but bounds alone say little about which leaf is
/// good.
///
/// A beam search finds leaves that promise short steps without overlap. Hiding
/// is not known beforehand, and plans that communicate little are mostly best
/// with overlap, too. Steps take longer than they promise. The search learns
/// from evaluated steps how much longer. The logarithm of that factor is a sum
/// over traits of a candidate's axes, fitted by ridge regression without
/// negative terms.
#ifndef TPSP_PLANNER_PROSPECTS_H
#define TPSP_PLANNER_PROSPECTS_H

#include "tpsp/Planner/Bounds.h"

#include <vector>

namespace tpsp::planner {

struct Prospect {
  SpaceNode leaf;
  Bound bound;
  /// The leaf's traits, as numbers.
  std::vector<size_t> traits = {};
};

class Prospects {
public:
  Prospects(const Space &space, const Bounds &bounds, int64_t memoryLimit);

  /// Takes out at most `most` leaves with the shortest expected steps. They are
  /// chosen to differ from each other, so that slow traits are recognised
  /// early. No leaf is expected to take more than `limit` seconds, unless
  /// `limit` is 0.
  std::vector<Prospect> take(size_t most, double limit);

  /// Takes out the leaves whose bounds without overlap are the least.
  std::vector<Prospect> takeFirst(size_t most);
  bool empty() const { return leaves.empty(); }

  /// Learns from a candidate's step without overlap, in seconds. 0: the
  /// candidate is useless.
  void learn(const Candidate &candidate, const Bound &bound, double seconds);

private:
  /// The traits of one candidate, as numbers, and the logarithm of its factor.
  struct Experience {
    std::vector<size_t> traits;
    double logFactor = 0;
  };

  size_t numberOf(const AxisUse &trait);
  std::vector<size_t> traitsOf(const Candidate &candidate);
  void fit();
  double expected(const Prospect &prospect) const;

  /// In the order of their bounds without overlap.
  std::vector<Prospect> leaves;
  std::vector<Experience> experience;
  /// The traits so far, and the term that each adds to the logarithm. A trait
  /// is a part of an axis's use.
  std::vector<AxisUse> traits;
  std::vector<double> logFactors;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_PROSPECTS_H
