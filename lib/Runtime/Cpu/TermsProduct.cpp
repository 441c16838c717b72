#include "TermsProduct.h"

#include "CpuMatmul.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

template <typename T> class GemmTerms final : public TermsProduct {
public:
  explicit GemmTerms(const MatmulForm &form) : form(form), ld(form) {}

  Status run(const ProductOfTerms &of, std::byte *) const override {
    auto *a = reinterpret_cast<const T *>(of.a);
    auto *b = reinterpret_cast<const T *>(of.b);
    auto *c = reinterpret_cast<T *>(of.c);
    if (of.numTerms == 0)
      for (int64_t i = 0; i < of.m; ++i)
        std::fill_n(c + i * ld.c, form.n, T(0));
    for (size_t i = 0; i < of.numTerms; ++i) {
      const ProductTerm &term = of.terms[i];
      Gemm<T> product{of.m, form.n, term.k,          ld.a,
                      ld.b, ld.c,   form.transposeA, form.transposeB};
      product.beta = i > 0 ? 1 : 0;
      TPSP_TRY(product.run(a + term.a, b + term.b, c));
    }
    return {};
  }

private:
  MatmulForm form;
  LeadingDimensions ld;
};

} // namespace

Status makeTermsProduct(const MatmulForm &form, int64_t dtype,
                        std::unique_ptr<TermsProduct> &out) {
  switch (dtype) {
  case TPSP_RT_F32:
    out = std::make_unique<GemmTerms<float>>(form);
    return {};
  case TPSP_RT_F64:
    out = std::make_unique<GemmTerms<double>>(form);
    return {};
  case TPSP_RT_BF16:
  case TPSP_RT_F16:
    out = makeConvertedProduct(form, dtype);
    return {};
  default:
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a matmul of {}; expected f32, bf16, f16 or f64",
                        elementName(dtype))};
  }
}

} // namespace tpsp::rt
