// Random optimizer states as large as a step makes them.
#ifndef TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H
#define TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H

#include "common/Program.h"

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <map>

namespace tpsp::run {

using namespace tool;

/// Gives random values to optimizer states (moments, not masters) that no file
/// provides. The values are as large as one step makes them from zeros. With
/// much larger states a verification would see nothing: a squared gradient of
/// 1e-8 hardly changes a mean of squares near 1.
class SizedStates final : public rt::TensorSource {
public:
  /// The plan must outlive this.
  SizedStates(const Plan &plan, std::unique_ptr<rt::TensorSource> source)
      : plan(plan), source(std::move(source)) {}

  /// Runs a step of `program` from zero states, measures the states that it
  /// makes, and fills the ranks' arguments again. The ranks must hold the
  /// arguments that this source gave. Does nothing if there is no such state.
  rt::Status begin(rt::World &world, const Program &program);

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override {
    return source->fill(begunAs(tensor), shard, memory);
  }
  rt::Status whole(const PlanBuffer &tensor,
                   std::vector<double> &out) const override {
    return source->whole(begunAs(tensor), out);
  }
  bool isGiven(const PlanBuffer &tensor) const override {
    return source->isGiven(tensor);
  }

private:
  bool isOurs(const PlanBuffer &tensor) const;
  /// Returns the tensor with its mean and deviation scaled to the measured
  /// size.
  PlanBuffer begunAs(const PlanBuffer &tensor) const;
  /// Measures a state and stores the factor for its random values. The factor
  /// is 1 if the step made numbers that are not finite.
  rt::Status measure(rt::World &world, const PlanBuffer &state);

  const Plan &plan;
  std::unique_ptr<rt::TensorSource> source;
  /// The factors by the argument's number; missing ones, before begin(), are 0.
  std::map<int64_t, double> factors;
};

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H
