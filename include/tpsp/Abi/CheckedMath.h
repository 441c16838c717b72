/// Products and sums of sizes that come from a plan file and so may be
/// anything.
#ifndef TPSP_ABI_CHECKEDMATH_H
#define TPSP_ABI_CHECKEDMATH_H

#include <cstdint>
#include <initializer_list>

namespace tpsp::rt {

/// The product, or false if it is not an int64_t.
inline bool checkedProduct(std::initializer_list<int64_t> factors,
                           int64_t &out) {
  out = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(out, factor, &out))
      return false;
  return true;
}

/// sum += a * b, or false if that is not an int64_t.
inline bool checkedAddProduct(int64_t &sum, int64_t a, int64_t b) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) &&
         !__builtin_add_overflow(sum, product, &sum);
}

} // namespace tpsp::rt

#endif // TPSP_ABI_CHECKEDMATH_H
