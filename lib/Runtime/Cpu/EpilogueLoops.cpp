#include "EpilogueLoops.h"

#include "ProcessorClones.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>

namespace tpsp::rt {
namespace {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

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

template <> struct Element<F16> {
  using Wide = float;
  static Wide load(F16 value) { return f16ToFloat(value.bits); }
  static F16 store(Wide value) { return {floatToF16(value)}; }
};

double exponential(double x) { return std::exp(x); }

/// A polynomial that vectorises, unlike the library's: 2^n e^r with |r| at most
/// half of log 2. Where the result would leave the range of f32 it stays at its
/// end. The coefficients are those of Cephes' expf, to 2 units in the last
/// place.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float least = -87.0f, most = 88.0f;
  x = x < least ? least : x > most ? most : x;
  // Adding this leaves the nearest integer in the lowest bits.
  constexpr float shift = 12582912.0f;
  float shifted = x * 1.44269504f + shift;
  float n = shifted - shift;
  float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + 0x3f800000u;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

/// As the compiler's own (Dialect/Tpsp/ScalarFunctions.cpp): x sigmoid(2u) with
/// u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr double geluC = 0.79788456080286535588, geluA = 0.044715;

template <typename W> [[gnu::always_inline]] inline W geluGate(W x) {
  W u2 = x * (W(2 * geluC) + W(2 * geluC * geluA) * x * x);
  return W(1) / (W(1) + exponential(-u2));
}

template <typename W> [[gnu::always_inline]] inline W gelu(W x) {
  return x * geluGate(x);
}

template <typename W> [[gnu::always_inline]] inline W geluSlope(W x) {
  W gate = geluGate(x);
  W du2 = W(2 * geluC) + W(6 * geluC * geluA) * x * x;
  return gate + x * gate * (W(1) - gate) * du2;
}

/// A block of the row stays in the first-level cache between the steps.
constexpr int64_t blockElements = 1024;

template <typename T>
[[gnu::always_inline]] inline void finishRow(const EpilogueRow &row) {
  using E = Element<T>;
  typename E::Wide x[blockElements];
  for (int64_t begin = 0; begin < row.columns; begin += blockElements) {
    int64_t size = std::min(blockElements, row.columns - begin);
    T *c = reinterpret_cast<T *>(row.c) + begin;
    for (int64_t i = 0; i < size; ++i)
      x[i] = E::load(c[i]);
    if (auto *bias = reinterpret_cast<const T *>(row.bias))
      for (int64_t i = 0; i < size; ++i)
        x[i] += E::load(bias[begin + i]);
    if (auto *keep = reinterpret_cast<T *>(row.keep))
      for (int64_t i = 0; i < size; ++i)
        keep[begin + i] = E::store(x[i]);
    if (row.gelu)
      for (int64_t i = 0; i < size; ++i)
        x[i] = gelu(x[i]);
    if (auto *slope = reinterpret_cast<const T *>(row.slope))
      for (int64_t i = 0; i < size; ++i)
        x[i] *= geluSlope(E::load(slope[begin + i]));
    for (int64_t i = 0; i < size; ++i)
      c[i] = E::store(x[i]);
  }
}

/// Neighbours are kept: rows are added up, block by block.
template <typename T>
[[gnu::always_inline]] inline void addRows(const OperandSum &sum, int64_t begin,
                                           int64_t end) {
  using E = Element<T>;
  typename E::Wide total[blockElements];
  for (; begin < end; begin += blockElements) {
    int64_t size = std::min(blockElements, end - begin);
    std::fill_n(total, size, 0);
    for (int64_t j = 0; j < sum.summed; ++j) {
      auto *row = reinterpret_cast<const T *>(sum.source) +
                  j * sum.summedStride + begin;
      for (int64_t i = 0; i < size; ++i)
        total[i] += E::load(row[i]);
    }
    for (int64_t i = 0; i < size; ++i)
      reinterpret_cast<T *>(sum.result)[begin + i] = E::store(total[i]);
  }
}

/// Neighbours are summed.
template <typename T>
[[gnu::always_inline]] inline void addAlong(const OperandSum &sum,
                                            int64_t begin, int64_t end) {
  using E = Element<T>;
  for (int64_t i = begin; i < end; ++i) {
    auto *row = reinterpret_cast<const T *>(sum.source) + i * sum.keptStride;
    typename E::Wide total = 0;
    for (int64_t j = 0; j < sum.summed; ++j)
      total += E::load(row[j]);
    reinterpret_cast<T *>(sum.result)[i] = E::store(total);
  }
}

template <typename T>
[[gnu::always_inline]] inline void addUp(const OperandSum &sum, int64_t begin,
                                         int64_t end) {
  if (sum.keptStride == 1)
    addRows<T>(sum, begin, end);
  else
    addAlong<T>(sum, begin, end);
}

#define TPSP_LOOPS(TYPE, ROW, SUM)                                             \
  TPSP_CLONES void ROW(const EpilogueRow &row) { finishRow<TYPE>(row); }       \
  TPSP_CLONES void SUM(const OperandSum &sum, int64_t begin, int64_t end) {    \
    addUp<TYPE>(sum, begin, end);                                              \
  }

TPSP_LOOPS(float, finishF32, addF32)
TPSP_LOOPS(Bf16, finishBf16, addBf16)
TPSP_LOOPS(double, finishF64, addF64)
TPSP_LOOPS(F16, finishF16, addF16)

#undef TPSP_LOOPS

} // namespace

RowLoop rowLoop(int64_t dtype) {
  return dtype == TPSP_RT_F32    ? finishF32
         : dtype == TPSP_RT_BF16 ? finishBf16
         : dtype == TPSP_RT_F16  ? finishF16
                                 : finishF64;
}

SumLoop sumLoop(int64_t dtype) {
  return dtype == TPSP_RT_F32    ? addF32
         : dtype == TPSP_RT_BF16 ? addBf16
         : dtype == TPSP_RT_F16  ? addF16
                                 : addF64;
}

} // namespace tpsp::rt
