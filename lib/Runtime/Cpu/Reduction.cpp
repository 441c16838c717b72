#include "Reduction.h"

#include "HalfRows.h"
#include "ProcessorClones.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

/// Integers are combined as unsigned integers, so that an overflowing sum
/// wraps.
template <typename T> T wrappingAdd(T a, T b) { return a + b; }
template <> int32_t wrappingAdd(int32_t a, int32_t b) {
  return int32_t(uint32_t(a) + uint32_t(b));
}
template <> int64_t wrappingAdd(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) + uint64_t(b));
}

struct Sum {
  template <typename W> static W combine(W a, W b) { return wrappingAdd(a, b); }
};

struct Max {
  template <typename W> static W combine(W a, W b) {
    return a > b || a != a ? a : b;
  }
};

/// A block of the accumulator stays in the first-level cache while the sources
/// are read.
constexpr int64_t blockElements = 1024;

template <typename T, typename Op>
TPSP_CLONES void reduce(std::byte *dst, const std::byte *const *sources,
                        int64_t numSources, int64_t count) {
  T sum[blockElements];
  for (int64_t begin = 0; begin < count; begin += blockElements) {
    int64_t size = std::min(blockElements, count - begin);
    auto *first = reinterpret_cast<const T *>(sources[0]) + begin;
    std::copy(first, first + size, sum);
    for (int64_t q = 1; q < numSources; ++q) {
      auto *source = reinterpret_cast<const T *>(sources[q]) + begin;
      for (int64_t i = 0; i < size; ++i)
        sum[i] = Op::combine(sum[i], source[i]);
    }
    std::copy(sum, sum + size, reinterpret_cast<T *>(dst) + begin);
  }
}

/// Combines f32 blocks.
template <typename Op>
TPSP_CLONES void combineInto(float *sum, const float *more, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    sum[i] = Op::combine(sum[i], more[i]);
}

/// The same for 16-bit elements, combined in f32.
template <int64_t dtype, typename Op>
void reduceHalf(std::byte *dst, const std::byte *const *sources,
                int64_t numSources, int64_t count) {
  const HalfRows rows = halfRows(dtype);
  auto at = [](const std::byte *elements, int64_t begin) {
    return reinterpret_cast<const uint16_t *>(elements) + begin;
  };
  float sum[blockElements], more[blockElements];
  for (int64_t begin = 0; begin < count; begin += blockElements) {
    int64_t size = std::min(blockElements, count - begin);
    rows.widen(at(sources[0], begin), sum, size);
    for (int64_t q = 1; q < numSources; ++q) {
      rows.widen(at(sources[q], begin), more, size);
      combineInto<Op>(sum, more, size);
    }
    rows.round(sum, reinterpret_cast<uint16_t *>(dst) + begin, size);
  }
}

} // namespace

ReduceFunction reduceFunction(int64_t dtype, int64_t reduction) {
  // In the order of TPSP_RT_F32, ... and TPSP_RT_SUM, TPSP_RT_MAX.
  static constexpr ReduceFunction functions[][2] = {
      {reduce<float, Sum>, reduce<float, Max>},
      {reduceHalf<TPSP_RT_BF16, Sum>, reduceHalf<TPSP_RT_BF16, Max>},
      {reduce<double, Sum>, reduce<double, Max>},
      {reduce<int32_t, Sum>, reduce<int32_t, Max>},
      {reduce<int64_t, Sum>, reduce<int64_t, Max>},
      {reduce<int8_t, Sum>, reduce<int8_t, Max>},
      {reduceHalf<TPSP_RT_F16, Sum>, reduceHalf<TPSP_RT_F16, Max>}};
  return functions[dtype][reduction];
}

} // namespace tpsp::rt
