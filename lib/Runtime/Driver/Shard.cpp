#include "tpsp/Runtime/Driver/Shard.h"

using namespace tpsp;
using namespace tpsp::rt;

Shard::Shard(const PlanBuffer &tensor, const std::vector<MeshAxis> &mesh,
             const std::vector<int64_t> &coordinates) {
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    int64_t group = 1, number = 0;
    for (int64_t axis : tensor.axes[dim]) {
      group *= mesh[axis].size;
      number = number * mesh[axis].size + coordinates[axis];
    }
    int64_t local = tensor.shape[dim] / group;
    dims.push_back({tensor.shape[dim], local, number * local});
    count *= local;
  }
  // The innermost dimension is a run, and so are those inside a dimension that
  // is whole.
  for (size_t dim = dims.size(); dim-- > 0;) {
    runLength *= dims[dim].local;
    if (dims[dim].local != dims[dim].extent)
      break;
  }
  if (count == 0)
    runLength = 1;
}

int64_t Shard::globalStart(int64_t run) const {
  int64_t local = run * runLength, global = 0, stride = 1;
  for (size_t dim = dims.size(); dim-- > 0;) {
    int64_t coordinate = local % dims[dim].local;
    local /= dims[dim].local;
    global += (dims[dim].start + coordinate) * stride;
    stride *= dims[dim].extent;
  }
  return global;
}

bool tpsp::rt::isFirstHolder(const PlanBuffer &tensor,
                             const std::vector<int64_t> &coordinates) {
  std::vector<bool> differs(coordinates.size(), false);
  for (int64_t axis : tensor.pending)
    differs[axis] = true;
  for (const std::vector<int64_t> &axes : tensor.axes)
    for (int64_t axis : axes)
      differs[axis] = true;
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    if (!differs[axis] && coordinates[axis] != 0)
      return false;
  return true;
}
