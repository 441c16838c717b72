/// Sums of products: C = A1 B1 + A2 B2 + ..., of matrices that lie in one A and
/// one B. The number of C's rows and the length of each sum are known only when
/// it is computed.
#ifndef TPSP_RUNTIME_CPU_TERMSPRODUCT_H
#define TPSP_RUNTIME_CPU_TERMSPRODUCT_H

#include "../Core/MatmulOffsets.h"
#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <memory>

namespace tpsp::rt {

/// A summand. Its matrices begin at elements `a` of A and `b` of B. `k` is the
/// number of products that it adds up.
struct ProductTerm {
  int64_t a = 0, b = 0, k = 0;
};

struct ProductOfTerms {
  int64_t m = 0;
  const std::byte *a = nullptr, *b = nullptr;
  std::byte *c = nullptr;
  const ProductTerm *terms = nullptr;
  size_t numTerms = 0;
};

class TermsProduct {
public:
  virtual ~TermsProduct() = default;

  /// Bytes of scratch memory that a thread needs.
  virtual size_t scratchBytes() const { return 0; }

  /// Computes the sum; without terms, writes zeros. Sums are in f32 (f64 for
  /// f64) and rounded once. Within a team, this thread computes alone.
  virtual Status run(const ProductOfTerms &product,
                     std::byte *scratch) const = 0;
};

/// For matrices laid out as `form` says; its m and k are upper bounds.
/// UNSUPPORTED for integers.
Status makeTermsProduct(const MatmulForm &form, int64_t dtype,
                        std::unique_ptr<TermsProduct> &out);

/// The product of 16-bit numbers, which are converted tile by tile. With `adds`
/// it is added to C, which is in f32.
std::unique_ptr<TermsProduct>
makeConvertedProduct(const MatmulForm &form, int64_t dtype, bool adds = false);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_TERMSPRODUCT_H
