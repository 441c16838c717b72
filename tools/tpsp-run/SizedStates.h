// Optimizer states of the size that a step makes them.
#ifndef TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H
#define TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H

#include "common/Program.h"

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <map>

namespace tpsp::run {

using namespace tool;

/// Gives optimizer states (moments, not masters) that no file has random values
/// of the size that one step makes of zeros. A verification with states of
/// another size would be blind: to a mean of squares near 1 a squared gradient
/// of 1e-8 adds nothing that shows.
class SizedStates final : public rt::TensorSource {
public:
  /// The plan must outlive this.
  SizedStates(const Plan &plan, std::unique_ptr<rt::TensorSource> source)
      : plan(plan), source(std::move(source)) {}

  /// Runs a step of `program` from zero states, measures what it makes of them,
  /// and gives the ranks their arguments anew. Nothing if there is no such
  /// state. The ranks have the arguments that this source gives before.
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
  /// The tensor with its values' size.
  PlanBuffer begunAs(const PlanBuffer &tensor) const;
  /// Measures a state: what to multiply made-up values by. 1 if the step made
  /// numbers that are not finite.
  rt::Status measure(rt::World &world, const PlanBuffer &state);

  const Plan &plan;
  std::unique_ptr<rt::TensorSource> source;
  /// By the number of the argument; 0 before begin.
  std::map<int64_t, double> factors;
};

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_SIZEDSTATES_H
