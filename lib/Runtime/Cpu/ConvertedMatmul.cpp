#include "CpuMatmul.h"
#include "HalfRows.h"
#include "TermsProduct.h"

#include <omp.h>

#include <algorithm>
#include <utility>

namespace tpsp::rt {
namespace {

/// A product of 16-bit matrices on a processor whose library has no such
/// product. Operands are converted to f32 tile by tile. f32 products add up to
/// a tile of the result, which is rounded once, or added to C. The tiles fit in
/// the caches, and are so large that conversions take only a few per cent of
/// the time.
class ConvertedProduct final : public TermsProduct {
public:
  ConvertedProduct(const MatmulForm &form, int64_t dtype, bool adds)
      : form(form), adds(adds), ld(form),
        rows(halfRows(dtype)), tile{std::min<int64_t>(form.m, 512),
                                    std::min<int64_t>(form.n, 1024),
                                    std::min<int64_t>(form.k, 512)} {}

  size_t scratchBytes() const override {
    return size_t(floatsA() + floatsB() + tile.m * tile.n) * sizeof(float);
  }

  Status run(const ProductOfTerms &of, std::byte *scratch) const override {
    auto *a = reinterpret_cast<float *>(scratch);
    Tiles tiles{a, a + floatsA(), a + floatsA() + floatsB()};
    return forEachPart(of.m, tile.m, [&](Range m) {
      return forEachPart(form.n, tile.n,
                         [&](Range n) { return runTile(of, tiles, m, n); });
    });
  }

private:
  /// A part of a dimension: `extent` positions from `begin` on.
  struct Range {
    int64_t begin, extent;
  };
  struct Tiles {
    float *a, *b, *c;
  };

  int64_t floatsA() const { return tile.m * tile.k; }
  int64_t floatsB() const { return tile.k * tile.n; }

  Status runTile(const ProductOfTerms &of, Tiles tiles, Range m,
                 Range n) const {
    bool isFirst = true;
    for (size_t i = 0; i < of.numTerms; ++i) {
      auto *a = reinterpret_cast<const uint16_t *>(of.a) + of.terms[i].a;
      auto *b = reinterpret_cast<const uint16_t *>(of.b) + of.terms[i].b;
      auto addTerm = [&](Range k) {
        form.transposeA ? widen(a, ld.a, k, m, tiles.a)
                        : widen(a, ld.a, m, k, tiles.a);
        form.transposeB ? widen(b, ld.b, n, k, tiles.b)
                        : widen(b, ld.b, k, n, tiles.b);
        bool adds = !std::exchange(isFirst, false);
        return multiply(tiles, m.extent, n.extent, k.extent, adds);
      };
      TPSP_TRY(forEachPart(of.terms[i].k, tile.k, addTerm));
    }
    if (isFirst)
      std::fill_n(tiles.c, m.extent * n.extent, 0.0f);
    if (adds)
      add(tiles.c, reinterpret_cast<float *>(of.c), m, n);
    else
      round(tiles.c, reinterpret_cast<uint16_t *>(of.c), m, n);
    return {};
  }

  void widen(const uint16_t *matrix, int64_t pitch, Range row, Range column,
             float *to) const {
#pragma omp parallel for if (!omp_in_parallel())
    for (int64_t i = 0; i < row.extent; ++i)
      rows.widen(matrix + (row.begin + i) * pitch + column.begin,
                 to + i * column.extent, column.extent);
  }

  Status multiply(Tiles tiles, int64_t m, int64_t n, int64_t k,
                  bool add) const {
    int64_t lda = form.transposeA ? m : k, ldb = form.transposeB ? k : n;
    Gemm<float> product{m, n, k, lda, ldb, n, form.transposeA, form.transposeB};
    product.beta = add ? 1 : 0;
    return product.run(tiles.a, tiles.b, tiles.c);
  }

  void add(const float *sums, float *c, Range m, Range n) const {
#pragma omp parallel for if (!omp_in_parallel())
    for (int64_t i = 0; i < m.extent; ++i) {
      float *row = c + (m.begin + i) * ld.c + n.begin;
      for (int64_t j = 0; j < n.extent; ++j)
        row[j] += sums[i * n.extent + j];
    }
  }

  void round(const float *sums, uint16_t *c, Range m, Range n) const {
#pragma omp parallel for if (!omp_in_parallel())
    for (int64_t i = 0; i < m.extent; ++i)
      rows.round(sums + i * n.extent, c + (m.begin + i) * ld.c + n.begin,
                 n.extent);
  }

  /// Calls body(range) -> Status for the parts of `whole`. Each part has `part`
  /// positions, except for the last.
  template <typename Body>
  static Status forEachPart(int64_t whole, int64_t part, const Body &body) {
    for (int64_t begin = 0; begin < whole; begin += part)
      TPSP_TRY(body(Range{begin, std::min(part, whole - begin)}));
    return {};
  }

  MatmulForm form;
  bool adds;
  LeadingDimensions ld;
  HalfRows rows;
  struct {
    int64_t m, n, k;
  } tile;
};

class ConvertedMatmul final : public PreparedMatmul {
public:
  ConvertedMatmul(const MatmulCommand &command, int threads)
      : m(command.m), walk(command, threads),
        widthC(elementBytes(command.resultType())),
        product(makeConvertedProduct(command, command.dtype, command.adds())) {
    for (int64_t i = 0; i < walk.steps; ++i) {
      MatmulOffsets at = walk.step({}, i);
      steps.push_back({at.a, at.b, command.k});
    }
  }

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &scratch) override {
    size_t perThread = product->scratchBytes();
    std::byte *base = scratch.reserve(perThread * walk.threads);
    return walk.forEachPoint([&](int thread, MatmulOffsets point) {
      constexpr int64_t width = sizeof(uint16_t);
      ProductOfTerms of{m,
                        a + point.a * width,
                        b + point.b * width,
                        c + point.c * widthC,
                        steps.data(),
                        steps.size()};
      return product->run(of, base + thread * perThread);
    });
  }

private:
  int64_t m;
  MatmulWalk walk;
  int64_t widthC;
  std::unique_ptr<TermsProduct> product;
  std::vector<ProductTerm> steps;
};

} // namespace

std::unique_ptr<TermsProduct> makeConvertedProduct(const MatmulForm &form,
                                                   int64_t dtype, bool adds) {
  return std::make_unique<ConvertedProduct>(form, dtype, adds);
}

Status prepareConvertedMatmul(const MatmulCommand &command, int threads,
                              std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<ConvertedMatmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
