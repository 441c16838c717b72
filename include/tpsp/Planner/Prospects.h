/// Leaves that may soon give a good plan. A good plan that is found early
/// excludes others; bounds alone tell little of which one is good.
///
/// A beam search finds leaves that promise short steps without overlap: what
/// hides is not known before, and who communicates little is mostly first with
/// overlap, too. Steps take longer than
/// they promise. What some took says what others will: the logarithm of how
/// many times longer is fitted as a sum over traits of a candidate's axes, by
/// ridge regression without negative terms.
#ifndef TPSP_PLANNER_PROSPECTS_H
#define TPSP_PLANNER_PROSPECTS_H

#include "tpsp/Planner/Bounds.h"

#include <vector>

namespace tpsp::planner {

struct Prospect {
  SpaceNode leaf;
  Bound bound;
  /// Of the leaf, as numbers.
  std::vector<size_t> traits = {};
};

class Prospects {
public:
  Prospects(const Space &space, const Bounds &bounds, int64_t memoryLimit);

  /// Takes at most `most` out, those of which the shortest steps are expected.
  /// They differ: what is slow is soon told from what is beside it. None is
  /// expected to take more than `limit` seconds, unless that is 0.
  std::vector<Prospect> take(size_t most, double limit);

  /// What a candidate's step took without overlap, in seconds; 0 if the
  /// candidate is of no use.
  void learn(const Candidate &candidate, const Bound &bound, double seconds);

private:
  /// Of traits, as numbers, in one candidate.
  struct Experience {
    std::vector<size_t> traits;
    double logFactor = 0;
  };

  size_t numberOf(const AxisUse &trait);
  std::vector<size_t> traitsOf(const Candidate &candidate);
  void fit();
  double expected(const Prospect &prospect) const;

  std::vector<Prospect> leaves;
  std::vector<Experience> experience;
  /// Those that there were so far, and what each adds to the logarithm. A trait
  /// is a part of a use.
  std::vector<AxisUse> traits;
  std::vector<double> logFactors;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_PROSPECTS_H
