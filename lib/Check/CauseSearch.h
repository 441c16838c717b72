/// The search for a changed collective, in the middle of a step, that explains
/// several wrong tensors.
#ifndef TPSP_LIB_CHECK_CAUSESEARCH_H
#define TPSP_LIB_CHECK_CAUSESEARCH_H

#include "BoundTensors.h"
#include "Ledger.h"

namespace tpsp::check {

/// Whether collectives in the middle of the program are to be tried on a
/// tensor. Either nothing explains it yet, or its own collective does not.
bool isOpen(const BoundTensor &tensor);

/// Sets the collective, the rule and the line of a verdict.
void nameRow(const LedgerRow &row, TensorVerdict &verdict);

class CauseSearch {
public:
  /// All must outlive this object. `firstRun` is the predictor's number of runs
  /// from which the settings' limit counts. `own` are the results of the step
  /// without a change.
  CauseSearch(Predictor &predictor, const CheckSettings &settings,
              int64_t firstRun, const std::vector<RankValues> &own,
              std::vector<BoundTensor> &tensors, CheckReport &report)
      : predictor(predictor), plan(predictor.plan()), settings(settings),
        firstRun(firstRun), own(own), tensors(tensors), report(report) {}

  /// Finds the change, on top of `base`, that explains most tensors, at least
  /// one of them open. It contradicts no tensor that is right. The tensors that
  /// it explains get their verdicts. `best` stays empty if there is none.
  rt::Status find(const Change &base, StepHypothesis &best);

private:
  /// A hypothesis that explains more tensors than others, or as many.
  struct Found {
    StepHypothesis hypothesis;
    std::vector<size_t> explained;
  };

  /// Whether a hypothesis is worth a step. It must reach a tensor that is open.
  /// If all of these are explained by themselves, one that reaches a tensor
  /// that is right is no simpler cause.
  bool isWorthTrying(const StepHypothesis &hypothesis) const;
  rt::Status findAmong(std::vector<StepHypothesis> hypotheses,
                       const Change &base, std::vector<Found> &found);
  rt::Status accept(const Change &base,
                    const std::vector<StepHypothesis> &found);
  void accept(const std::vector<StepHypothesis> &found,
              const RankValues &prediction, double error,
              BoundTensor &tensor) const;
  void noteBudget();

  Predictor &predictor;
  const Plan &plan;
  const CheckSettings &settings;
  const int64_t firstRun;
  const std::vector<RankValues> &own;
  std::vector<BoundTensor> &tensors;
  CheckReport &report;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_CAUSESEARCH_H
