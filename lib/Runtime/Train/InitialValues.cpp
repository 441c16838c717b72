#include "tpsp/Runtime/Train/InitialValues.h"

#include <cstring>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

bool InitialValues::beginsAsZero(const PlanBuffer &tensor) const {
  if (source->isGiven(tensor) || tensor.isStepState() || tensor.isMaster)
    return false;
  if (tensor.isCotangent())
    return tensor.of != loss;
  return tensor.kind == BufferKind::State || tensor.isScalar ||
         isMadeOfTokens(tensor.data);
}

Status InitialValues::fill(const PlanBuffer &tensor, const Shard &shard,
                           void *memory) const {
  if (!beginsAsZero(tensor))
    return source->fill(tensor, shard, memory);
  std::memset(memory, 0, tensor.bytes);
  return {};
}

Status InitialValues::whole(const PlanBuffer &tensor,
                            std::vector<double> &out) const {
  if (!beginsAsZero(tensor))
    return source->whole(tensor, out);
  size_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= size_t(extent);
  out.assign(elements, 0);
  return {};
}
