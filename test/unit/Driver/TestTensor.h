/// Tensors of a plan for tests.
#ifndef TPSP_TEST_UNIT_DRIVER_TESTTENSOR_H
#define TPSP_TEST_UNIT_DRIVER_TESTTENSOR_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/tpsp_rt.h"

namespace tpsp::rt {

/// Returns a tensor of f32 at the start of the arena. `axes` has numbers of
/// axes per dimension.
inline PlanBuffer testTensor(const std::vector<MeshAxis> &mesh,
                             std::vector<int64_t> shape,
                             std::vector<std::vector<int64_t>> axes) {
  PlanBuffer tensor;
  tensor.kind = BufferKind::Input;
  tensor.offset = 0;
  tensor.name = "x";
  tensor.dtype = TPSP_RT_F32;
  tensor.bytes = sizeof(float);
  for (int64_t extent : shape)
    tensor.bytes *= extent;
  for (const auto &list : axes)
    for (int64_t axis : list)
      tensor.bytes /= mesh[axis].size;
  tensor.shape = std::move(shape);
  tensor.axes = std::move(axes);
  return tensor;
}

/// Returns every rank's coordinates, first axis slowest.
inline std::vector<std::vector<int64_t>>
allCoordinates(const std::vector<MeshAxis> &mesh) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (const MeshAxis &axis : mesh) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto &coordinates : all)
      for (int64_t i = 0; i < axis.size; ++i) {
        longer.push_back(coordinates);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

} // namespace tpsp::rt

#endif // TPSP_TEST_UNIT_DRIVER_TESTTENSOR_H
