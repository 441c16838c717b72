#include "TermsProduct.h"

#include "CpuMatmul.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <cstring>

namespace tpsp::rt {
namespace {

class F32Product final : public TermsProduct {
public:
  explicit F32Product(const MatmulForm &form) : form(form), ld(form) {}

  Status run(const ProductOfTerms &of, std::byte *) const override {
    auto *a = reinterpret_cast<const float *>(of.a);
    auto *b = reinterpret_cast<const float *>(of.b);
    auto *c = reinterpret_cast<float *>(of.c);
    if (of.numTerms == 0)
      for (int64_t i = 0; i < of.m; ++i)
        std::fill_n(c + i * ld.c, form.n, 0.0f);
    for (size_t i = 0; i < of.numTerms; ++i) {
      const ProductTerm &term = of.terms[i];
      Sgemm product{of.m, form.n, term.k,          ld.a,
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

class F64Product final : public TermsProduct {
public:
  explicit F64Product(const MatmulForm &form) : form(form), ld(form) {}

  Status run(const ProductOfTerms &of, std::byte *) const override {
    auto *a = reinterpret_cast<const double *>(of.a);
    auto *b = reinterpret_cast<const double *>(of.b);
    auto *c = reinterpret_cast<double *>(of.c);
    for (int64_t i = 0; i < of.m; ++i)
      std::fill_n(c + i * ld.c, form.n, 0.0);
    for (size_t i = 0; i < of.numTerms; ++i) {
      const ProductTerm &term = of.terms[i];
      Dgemm{of.m, form.n, term.k,          ld.a,
            ld.b, ld.c,   form.transposeA, form.transposeB}
          .add(a + term.a, b + term.b, c);
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
    out = std::make_unique<F32Product>(form);
    return {};
  case TPSP_RT_F64:
    out = std::make_unique<F64Product>(form);
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
