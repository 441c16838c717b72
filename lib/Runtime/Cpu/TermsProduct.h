/// Products that are added up: C = A1 B1 + A2 B2 + ..., of matrices that lie in
/// one A and one B. How many rows C has, and how long each sum is, is only
/// known when it is computed.
#ifndef TPSP_RUNTIME_CPU_TERMSPRODUCT_H
#define TPSP_RUNTIME_CPU_TERMSPRODUCT_H

#include "../Core/MatmulOffsets.h"
#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <memory>

namespace tpsp::rt {

/// A summand: where its matrices begin, in elements from A's and B's own
/// beginnings, and how many products it adds up.
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

  /// What a thread needs to work in.
  virtual size_t scratchBytes() const { return 0; }

  /// Computes it; without a term, zeroes. Sums are in f32 (f64 for f64) and
  /// rounded once. Within a team, by this thread alone.
  virtual Status run(const ProductOfTerms &product,
                     std::byte *scratch) const = 0;
};

/// For matrices laid out as `form` says, whose m and k are the largest there
/// will be. UNSUPPORTED for integers.
Status makeTermsProduct(const MatmulForm &form, int64_t dtype,
                        std::unique_ptr<TermsProduct> &out);

/// That of 16-bit numbers, converted tile by tile.
std::unique_ptr<TermsProduct> makeConvertedProduct(const MatmulForm &form,
                                                   int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_TERMSPRODUCT_H
