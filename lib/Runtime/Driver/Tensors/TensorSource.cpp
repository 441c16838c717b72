#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include "tpsp/Runtime/World.h"

#include <algorithm>
#include <cstring>

using namespace tpsp;
using namespace tpsp::rt;

Status RandomSource::fill(const PlanBuffer &tensor, const Shard &shard,
                          void *memory) const {
  RandomTensor(tensor, seed, use).fill(shard, memory);
  return {};
}

Status RandomSource::whole(const PlanBuffer &tensor,
                           std::vector<double> &out) const {
  out = RandomTensor(tensor, seed, use).whole();
  return {};
}

PlanBuffer MastersFromParameters::begunAs(const PlanBuffer &tensor) const {
  if (!tensor.isMaster || source->isGiven(tensor))
    return tensor;
  for (const PlanBuffer &parameter : plan.tensors())
    if (parameter.kind == BufferKind::Parameter &&
        parameter.number == tensor.of) {
      PlanBuffer master = parameter;
      master.dtype = tensor.dtype;
      return master;
    }
  return tensor;
}

Status MastersFromParameters::fill(const PlanBuffer &tensor, const Shard &shard,
                                   void *memory) const {
  return source->fill(begunAs(tensor), shard, memory);
}

Status MastersFromParameters::whole(const PlanBuffer &tensor,
                                    std::vector<double> &out) const {
  return source->whole(begunAs(tensor), out);
}

/// Writes a rank's part of an argument. If the argument is partial, the first
/// rank along the pending axes holds the values, and the others hold zeros.
static Status fillArgument(const Rank &rank, const TensorSource &source,
                           const Plan &plan, const PlanBuffer &tensor,
                           void *memory) {
  bool isFirst =
      std::all_of(tensor.pending.begin(), tensor.pending.end(),
                  [&](int64_t axis) { return rank.coordinate(axis) == 0; });
  if (!isFirst && !tensor.pendingMax) {
    std::memset(memory, 0, tensor.bytes);
    return {};
  }
  // The source has no values for padding.
  if (!tensor.padding.empty())
    std::memset(memory, 0, tensor.bytes);
  Shard shard(tensor, plan.mesh, rank.coordinates());
  return source.fill(tensor, shard, memory);
}

Status tpsp::rt::fillArguments(
    Rank &rank, const TensorSource &source, const Plan &plan,
    const std::function<bool(const PlanBuffer &)> &isWanted) {
  std::vector<char> copy;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (!tensor.isArgument() || !tensor.isHeldAt(rank.coordinates()) ||
        (isWanted && !isWanted(tensor)))
      continue;
    TPSP_TRY(rank.fill(*tensor.offset, tensor.bytes, copy, [&](void *memory) {
      return fillArgument(rank, source, plan, tensor, memory);
    }));
  }
  return {};
}
