/// Holds a changed step against a dump while the step runs, and ends it as soon
/// as the change cannot be the cause.
#ifndef TPSP_LIB_CHECK_HYPOTHESISTRIAL_H
#define TPSP_LIB_CHECK_HYPOTHESISTRIAL_H

#include "BoundTensors.h"
#include "Reach.h"

#include <map>

namespace tpsp::check {

class HypothesisTrial final : public ResultWatch {
public:
  /// All must outlive this object. `own` are the results of the step without a
  /// change. `fewest` is how many tensors a better hypothesis explains.
  HypothesisTrial(const Plan &plan, const std::vector<BoundTensor> &tensors,
                  const std::vector<RankValues> &own, const Change &change,
                  size_t fewest);

  /// Runs the step. A tensor that the change does not reach stays as it is.
  rt::Status run(Predictor &predictor, const Change &change);

  /// Whether the change explains as many tensors as are needed, at least one of
  /// them open, and contradicts none that is right. During the step: whether
  /// that is still possible.
  bool isCause() const;
  /// The numbers of the tensors that it explains, ascending.
  std::vector<size_t> explained() const;

  bool sees(size_t result) const override;
  void see(size_t result, int64_t rank, std::vector<double> part) override;
  bool goesOn(size_t result) override;

private:
  enum class Fate { Unreached, Untried, Fits, Differs };

  /// Compares those that were not seen.
  void finish(const std::vector<RankValues> &results);
  void settle(size_t number, double distance);
  /// Adds `one` to the counts of a reached tensor that may fit.
  void count(const BoundTensor &tensor, int64_t one);

  const std::vector<BoundTensor> &tensors;
  const std::vector<RankValues> &own;
  const int64_t fewest;
  /// These three have an item for each tensor.
  std::vector<Fate> fates;
  std::vector<bool> isSeen;
  std::vector<std::vector<Squares>> squares;
  /// The numbers of the reached tensors, by result.
  std::map<int64_t, std::vector<size_t>> ofResult;
  /// Counts of tensors that may still fit and are not right: all, the open
  /// ones, and those that share a factor.
  int64_t possible = 0, open = 0, sharedPossible = 0;
  /// How many tensors share a factor.
  int64_t shared = 0;
  /// Whether a tensor that is right differs.
  bool isContradicted = false;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_HYPOTHESISTRIAL_H
