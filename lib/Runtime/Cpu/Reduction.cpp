#include "Reduction.h"

#include "tpsp/Runtime/ElementType.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

struct Bf16 {
  uint16_t bits;
};

/// How an element is stored and what it is combined in. Integers combine as
/// unsigned ones would, so that an overflowing sum wraps.
template <typename T> struct Element {
  using Wide = T;
  static Wide load(T value) { return value; }
  static T store(Wide value) { return value; }
};

template <> struct Element<Bf16> {
  using Wide = float;
  static Wide load(Bf16 value) { return bf16ToFloat(value.bits); }
  static Bf16 store(Wide value) { return {floatToBf16(value)}; }
};

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
/// stream by.
constexpr int64_t blockElements = 1024;

template <typename T, typename Op>
void reduce(std::byte *dst, const std::byte *const *sources,
            int64_t numSources, int64_t count) {
  using Wide = typename Element<T>::Wide;
  Wide sum[blockElements];
  for (int64_t begin = 0; begin < count; begin += blockElements) {
    int64_t size = std::min(blockElements, count - begin);
    auto *first = reinterpret_cast<const T *>(sources[0]) + begin;
    for (int64_t i = 0; i < size; ++i)
      sum[i] = Element<T>::load(first[i]);
    for (int64_t q = 1; q < numSources; ++q) {
      auto *source = reinterpret_cast<const T *>(sources[q]) + begin;
      for (int64_t i = 0; i < size; ++i)
        sum[i] = Op::combine(sum[i], Element<T>::load(source[i]));
    }
    auto *result = reinterpret_cast<T *>(dst) + begin;
    for (int64_t i = 0; i < size; ++i)
      result[i] = Element<T>::store(sum[i]);
  }
}

} // namespace

ReduceFunction reduceFunction(int64_t dtype, int64_t reduction) {
  // In the order of TPSP_RT_F32, ... and TPSP_RT_SUM, TPSP_RT_MAX.
  static constexpr ReduceFunction functions[][2] = {
      {reduce<float, Sum>, reduce<float, Max>},
      {reduce<Bf16, Sum>, reduce<Bf16, Max>},
      {reduce<double, Sum>, reduce<double, Max>},
      {reduce<int32_t, Sum>, reduce<int32_t, Max>},
      {reduce<int64_t, Sum>, reduce<int64_t, Max>},
  };
  return functions[dtype][reduction];
}

} // namespace tpsp::rt
