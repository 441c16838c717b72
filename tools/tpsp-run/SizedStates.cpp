#include "SizedStates.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"

#include <cmath>
#include <cstring>

using namespace tpsp;
using namespace tpsp::run;

bool SizedStates::isOurs(const PlanBuffer &tensor) const {
  return tensor.kind == BufferKind::State && tensor.of >= 0 &&
         !tensor.isMaster && !rt::isInteger(tensor.dtype) &&
         !source->isGiven(tensor);
}

PlanBuffer SizedStates::begunAs(const PlanBuffer &tensor) const {
  if (!isOurs(tensor))
    return tensor;
  auto found = factors.find(tensor.number);
  double factor = found == factors.end() ? 0 : found->second;
  PlanBuffer sized = tensor;
  sized.mean *= factor;
  sized.deviation *= factor;
  return sized;
}

static double rmsOf(const std::vector<double> &values) {
  double squared = 0;
  for (double x : values)
    squared += x * x;
  return values.empty()
             ? 0
             : std::sqrt(squared / static_cast<double>(values.size()));
}

rt::Status SizedStates::measure(rt::World &world, const PlanBuffer &state) {
  std::vector<double> made;
  TPSP_TRY(rt::gatherTensor(world, plan, state, made));
  double size = rmsOf(made) / std::hypot(state.mean, state.deviation);
  // Only the process with rank 0 has the values. The others get the size by a
  // sum of its bits.
  int64_t bits = 0;
  if (world.hasFirstRank())
    std::memcpy(&bits, &size, sizeof(bits));
  TPSP_TRY(world.sumOverProcesses(bits));
  std::memcpy(&size, &bits, sizeof(bits));
  factors[state.number] = std::isfinite(size) ? size : 1;
  return {};
}

rt::Status SizedStates::begin(rt::World &world, const Program &program) {
  std::vector<const PlanBuffer *> states;
  for (const PlanBuffer &tensor : plan.tensors())
    if (isOurs(tensor))
      states.push_back(&tensor);
  if (states.empty())
    return {};
  TPSP_TRY(world.run([&](rt::Rank &rank) {
    TPSP_TRY(rank.step(program.step, program.plan()));
    return rank.synchronize();
  }));
  for (const PlanBuffer *state : states)
    TPSP_TRY(measure(world, *state));
  return world.run(
      [&](rt::Rank &rank) { return rt::fillArguments(rank, *this, plan); });
}
