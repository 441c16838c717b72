#include "tpsp/Runtime/Driver/TensorSource.h"

#include "tpsp/Runtime/Driver/RandomData.h"

using namespace tpsp::rt;

Status RandomSource::fill(const ManifestTensor &tensor, const Shard &shard,
                          void *memory) const {
  RandomTensor(tensor, seed).fill(shard, memory);
  return {};
}

Status RandomSource::whole(const ManifestTensor &tensor,
                           std::vector<double> &out) const {
  out = RandomTensor(tensor, seed).whole();
  return {};
}
