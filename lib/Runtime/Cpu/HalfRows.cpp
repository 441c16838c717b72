#include "HalfRows.h"

#include "ProcessorClones.h"

#include <iterator>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tpsp::rt {
namespace {

template <float (*widen)(uint16_t)>
TPSP_CLONES void widenRow(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = widen(from[i]);
}

template <uint16_t (*round)(float)>
TPSP_CLONES void roundRow(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = round(from[i]);
}

/// In the order of `halfFloats`.
const HalfRows portable[] = {{widenRow<bf16ToFloat>, roundRow<floatToBf16>},
                             {widenRow<f16ToFloat>, roundRow<floatToF16>}};
static_assert(std::size(portable) == std::size(halfFloats));

#ifdef __x86_64__
[[gnu::target("avx,f16c")]] void widenByF16c(const uint16_t *from, float *to,
                                             int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto *eight = reinterpret_cast<const __m128i *>(from + i);
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(eight)));
  }
  for (; i < count; ++i)
    to[i] = f16ToFloat(from[i]);
}

[[gnu::target("avx,f16c")]] void roundByF16c(const float *from, uint16_t *to,
                                             int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i eight =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i), eight);
  }
  for (; i < count; ++i)
    to[i] = floatToF16(from[i]);
}

bool hasF16c() {
  static const bool has =
      __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
#endif

} // namespace

HalfRows halfRows(int64_t dtype) {
#ifdef __x86_64__
  if (dtype == TPSP_RT_F16 && hasF16c())
    return {widenByF16c, roundByF16c};
#endif
  return portable[halfFloat(dtype) - halfFloats];
}

} // namespace tpsp::rt
