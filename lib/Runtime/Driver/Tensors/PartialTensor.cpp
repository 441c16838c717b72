#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Tensors/Shard.h"

#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::rt;

void tpsp::rt::combine(double value, bool isMaximum, double &combined) {
  // A NaN must not get lost in a maximum.
  if (!isMaximum)
    combined += value;
  else if (!std::isnan(combined) && !(value <= combined))
    combined = value;
}

Status tpsp::rt::gatherTensor(World &world, const Plan &plan,
                              const PlanBuffer &tensor,
                              std::vector<double> &out) {
  double neutral =
      tensor.pendingMax ? -std::numeric_limits<double>::infinity() : 0;
  out.assign(world.hasFirstRank() ? tensor.elements() : 0, neutral);
  auto add = [&](int64_t rank, const void *memory) -> Status {
    Shard(tensor, plan.mesh, world.mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            combine(loadNumber(memory, tensor.dtype, local + i),
                    tensor.pendingMax, out[global + i]);
        });
    return {};
  };
  // One rank after another, because sums depend on the order.
  for (int64_t number = 0; number < world.numRanks(); ++number) {
    if (!isFirstHolder(tensor, world.mesh().coordinates(number)))
      continue;
    TPSP_TRY(world.inspect(
        *tensor.offset, tensor.bytes,
        [&](int64_t rank) { return rank == number; }, add));
  }
  return {};
}
