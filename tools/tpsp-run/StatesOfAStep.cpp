#include "StatesOfAStep.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tpsp;
using namespace tpsp::run;

bool StatesOfAStep::isOurs(const PlanBuffer &tensor) const {
  return tensor.kind == BufferKind::State && tensor.of >= 0 &&
         !tensor.isMaster && !rt::isInteger(tensor.dtype) &&
         isGivenUp.count(tensor.number) == 0 && !source->isGiven(tensor);
}

std::vector<const PlanBuffer *> StatesOfAStep::states() const {
  std::vector<const PlanBuffer *> states;
  for (const PlanBuffer &tensor : plan.tensors())
    if (isOurs(tensor))
      states.push_back(&tensor);
  return states;
}

rt::Status StatesOfAStep::begin(rt::World &world, const Program &program) {
  std::vector<const PlanBuffer *> ours = states();
  if (ours.empty())
    return {};
  TPSP_TRY(world.run([&](rt::Rank &rank) {
    TPSP_TRY(rank.step(program.step));
    return rank.synchronize();
  }));
  for (const PlanBuffer *state : ours) {
    std::vector<double> made;
    TPSP_TRY(rt::gatherTensor(world, plan, *state, made));
    int64_t bad = std::count_if(made.begin(), made.end(),
                                [](double x) { return !std::isfinite(x); });
    TPSP_TRY(world.sumOverProcesses(bad));
    if (bad > 0)
      isGivenUp[state->number] = true;
    else
      values[state->number] = std::move(made);
  }
  // The states are where they are to be.
  auto isOther = [&](const PlanBuffer &tensor) { return !isOurs(tensor); };
  return world.run([&](rt::Rank &rank) {
    return rt::fillArguments(rank, *this, plan, isOther);
  });
}

rt::Status StatesOfAStep::fill(const PlanBuffer &tensor, const rt::Shard &shard,
                               void *memory) const {
  if (!isOurs(tensor))
    return source->fill(tensor, shard, memory);
  auto found = values.find(tensor.number);
  bool isKnown = found != values.end() && !found->second.empty();
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      rt::storeFloat(isKnown ? found->second[global + i] : 0, tensor.dtype,
                     memory, local + i);
  });
  return {};
}

rt::Status StatesOfAStep::whole(const PlanBuffer &tensor,
                                std::vector<double> &out) const {
  if (!isOurs(tensor))
    return source->whole(tensor, out);
  auto found = values.find(tensor.number);
  if (found != values.end())
    out = found->second;
  else
    out.assign(tensor.elements(), 0);
  return {};
}
