#include "NcclArithmetic.h"

#include "HalfNumbers.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tpsp::doubles {
namespace {

/// Integers wrap around, because after a failed step operands may be anything.
template <typename T> T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}

template <typename T> void combine(char *dst, const char *src, bool isMax) {
  T a, b;
  std::memcpy(&a, dst, sizeof a);
  std::memcpy(&b, src, sizeof b);
  if (isMax)
    a = a > b || a != a ? a : b;
  else
    a = sum(a, b);
  std::memcpy(dst, &a, sizeof a);
}

template <typename Half>
void combineHalf(char *dst, const char *src, bool isMax) {
  uint16_t left, right;
  std::memcpy(&left, dst, 2);
  std::memcpy(&right, src, 2);
  float a = Half::load(left), b = Half::load(right);
  uint16_t result = Half::store(isMax ? (a > b || a != a ? a : b) : a + b);
  std::memcpy(dst, &result, 2);
}

} // namespace

size_t widthOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
    return 1;
  case ncclBfloat16:
  case ncclFloat16:
    return 2;
  case ncclInt64:
  case ncclFloat64:
    return 8;
  default:
    return 4;
  }
}

void combineAt(ncclDataType_t type, char *dst, const char *src, bool isMax) {
  switch (type) {
  case ncclInt8:
    return combine<int8_t>(dst, src, isMax);
  case ncclInt32:
    return combine<int32_t>(dst, src, isMax);
  case ncclInt64:
    return combine<int64_t>(dst, src, isMax);
  case ncclFloat64:
    return combine<double>(dst, src, isMax);
  case ncclBfloat16:
    return combineHalf<Bf16>(dst, src, isMax);
  case ncclFloat16:
    return combineHalf<F16>(dst, src, isMax);
  default:
    return combine<float>(dst, src, isMax);
  }
}

} // namespace tpsp::doubles
