/// Products and sums of sizes that cannot be trusted: a plan file may be
/// corrupt, and a program may have any extents.
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

/// Sums and products of sizes for comparing and showing; no size is negative. A
/// result that does not fit is INT64_MAX, and later sums and products keep that
/// value. bytesText() calls it "more than 8 EiB".
inline int64_t saturatedSum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
inline int64_t saturatedProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

} // namespace tpsp::rt

#endif // TPSP_ABI_CHECKEDMATH_H
