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
[[gnu::always_inline]] inline void reduce(std::byte *dst,
                                          const std::byte *const *sources,
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

// The build is for any x86-64, but rounding to bf16 takes twice as long
// without AVX2's packing of integers; so each function is compiled for several
// processors and chosen at load time. Sanitizers run too early for that.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TPSP_CLONES [[gnu::target_clones("avx2", "default")]]
#else
#define TPSP_CLONES
#endif

#define TPSP_REDUCE(NAME, TYPE, OP)                                            \
  TPSP_CLONES void NAME(std::byte *dst, const std::byte *const *sources,       \
                        int64_t numSources, int64_t count) {                   \
    reduce<TYPE, OP>(dst, sources, numSources, count);                         \
  }

TPSP_REDUCE(sumF32, float, Sum)
TPSP_REDUCE(maxF32, float, Max)
TPSP_REDUCE(sumBf16, Bf16, Sum)
TPSP_REDUCE(maxBf16, Bf16, Max)
TPSP_REDUCE(sumF64, double, Sum)
TPSP_REDUCE(maxF64, double, Max)
TPSP_REDUCE(sumI32, int32_t, Sum)
TPSP_REDUCE(maxI32, int32_t, Max)
TPSP_REDUCE(sumI64, int64_t, Sum)
TPSP_REDUCE(maxI64, int64_t, Max)
TPSP_REDUCE(sumI8, int8_t, Sum)
TPSP_REDUCE(maxI8, int8_t, Max)

#undef TPSP_REDUCE
#undef TPSP_CLONES

} // namespace

ReduceFunction reduceFunction(int64_t dtype, int64_t reduction) {
  // In the order of TPSP_RT_F32, ... and TPSP_RT_SUM, TPSP_RT_MAX.
  static constexpr ReduceFunction functions[][2] = {
      {sumF32, maxF32}, {sumBf16, maxBf16}, {sumF64, maxF64},
      {sumI32, maxI32}, {sumI64, maxI64},   {sumI8, maxI8}};
  return functions[dtype][reduction];
}

} // namespace tpsp::rt
