// Optimizer states of the size that a step makes them.
#ifndef TPSP_TOOLS_TPSP_RUN_STATESOFASTEP_H
#define TPSP_TOOLS_TPSP_RUN_STATESOFASTEP_H

#include "common/Program.h"

#include "tpsp/Runtime/Driver/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <map>
#include <vector>

namespace tpsp::run {

using namespace tool;

/// Gives optimizer states (moments, not masters) that no file has the values
/// that one step makes of zeros. A verification with states of another size
/// would be blind: to a mean of squares near 1 a squared gradient of 1e-8 adds
/// nothing that shows.
class StatesOfAStep final : public rt::TensorSource {
public:
  /// The plan must outlive this.
  StatesOfAStep(const Plan &plan, std::unique_ptr<rt::TensorSource> source)
      : plan(plan), source(std::move(source)) {}

  /// Runs a step of `program` from zero states, keeps what it makes of them,
  /// and gives the ranks all other arguments anew. Nothing if there is no such
  /// state. States that are not finite then are the source's.
  rt::Status begin(rt::World &world, const Program &program);

  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  void *memory) const override;
  rt::Status whole(const PlanBuffer &tensor,
                   std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override {
    return source->isGiven(tensor);
  }

private:
  bool isOurs(const PlanBuffer &tensor) const;
  std::vector<const PlanBuffer *> states() const;

  const Plan &plan;
  std::unique_ptr<rt::TensorSource> source;
  /// By the number of the argument. Values that are not here yet are zeros; of
  /// several processes only that with rank 0 learns them.
  std::map<int64_t, std::vector<double>> values;
  /// States that the source gives after all.
  std::map<int64_t, bool> isGivenUp;
};

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_STATESOFASTEP_H
