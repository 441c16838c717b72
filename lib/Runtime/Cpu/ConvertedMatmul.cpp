#include "CpuMatmul.h"
#include "HalfRows.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

/// A product of 16-bit matrices on a processor whose library has none for them.
/// Tile by tile the operands become f32. f32 products add up to a tile of the
/// result, which is rounded once. The tiles stay in the caches, and are large
/// enough for conversions to be a few per cent of the work.
class ConvertedMatmul final : public PreparedMatmul {
public:
  ConvertedMatmul(const MatmulCommand &command, int threads)
      : command(command), walk(command, threads), ld(command),
        rows(halfRows(command.dtype)), tile{std::min<int64_t>(command.m, 512),
                                            std::min<int64_t>(command.n, 1024),
                                            std::min<int64_t>(command.k, 512)} {
  }

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &scratch) override;

private:
  /// A part of the product: from `begin` on, `extent` long.
  struct Range {
    int64_t begin, extent;
  };
  struct Operands {
    const uint16_t *a, *b;
    uint16_t *c;
  };
  struct Tiles {
    float *a, *b, *c;
  };

  Status runPoint(MatmulOffsets point, Operands matrices, Tiles tiles) const;
  Status runTile(MatmulOffsets point, Operands matrices, Tiles tiles, Range m,
                 Range n) const;
  void widen(const uint16_t *matrix, int64_t pitch, Range row, Range column,
             float *to) const;
  Status multiply(Tiles tiles, int64_t m, int64_t n, int64_t k, bool add) const;
  void round(const float *sums, uint16_t *c, Range m, Range n) const;

  /// Calls body(range) -> Status for the parts of `whole`, each `part` long but
  /// for the last.
  template <typename Body>
  static Status forEachPart(int64_t whole, int64_t part, const Body &body) {
    for (int64_t begin = 0; begin < whole; begin += part)
      TPSP_TRY(body(Range{begin, std::min(part, whole - begin)}));
    return {};
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
  HalfRows rows;
  struct {
    int64_t m, n, k;
  } tile;
};

Status ConvertedMatmul::run(const std::byte *a, const std::byte *b,
                            std::byte *c, ScratchBuffer &scratch) {
  int64_t floatsA = tile.m * tile.k, floatsB = tile.k * tile.n;
  int64_t perThread = floatsA + floatsB + tile.m * tile.n;
  auto *base = reinterpret_cast<float *>(
      scratch.reserve(size_t(perThread * walk.threads) * sizeof(float)));
  Operands matrices{reinterpret_cast<const uint16_t *>(a),
                    reinterpret_cast<const uint16_t *>(b),
                    reinterpret_cast<uint16_t *>(c)};
  return walk.forEachPoint([&](int thread, MatmulOffsets point) -> Status {
    float *mine = base + thread * perThread;
    return runPoint(point, matrices,
                    {mine, mine + floatsA, mine + floatsA + floatsB});
  });
}

Status ConvertedMatmul::runPoint(MatmulOffsets point, Operands matrices,
                                 Tiles tiles) const {
  return forEachPart(command.m, tile.m, [&](Range m) {
    return forEachPart(command.n, tile.n, [&](Range n) {
      return runTile(point, matrices, tiles, m, n);
    });
  });
}

Status ConvertedMatmul::runTile(MatmulOffsets point, Operands matrices,
                                Tiles tiles, Range m, Range n) const {
  for (int64_t step = 0; step < walk.steps; ++step) {
    MatmulOffsets at = walk.step(point, step);
    auto add = [&](Range k) {
      command.transposeA ? widen(matrices.a + at.a, ld.a, k, m, tiles.a)
                         : widen(matrices.a + at.a, ld.a, m, k, tiles.a);
      command.transposeB ? widen(matrices.b + at.b, ld.b, n, k, tiles.b)
                         : widen(matrices.b + at.b, ld.b, k, n, tiles.b);
      return multiply(tiles, m.extent, n.extent, k.extent,
                      /*add=*/step > 0 || k.begin > 0);
    };
    TPSP_TRY(forEachPart(command.k, tile.k, add));
  }
  round(tiles.c, matrices.c + point.c, m, n);
  return {};
}

void ConvertedMatmul::widen(const uint16_t *matrix, int64_t pitch, Range row,
                            Range column, float *to) const {
#pragma omp parallel for if (walk.threads == 1)
  for (int64_t i = 0; i < row.extent; ++i)
    rows.widen(matrix + (row.begin + i) * pitch + column.begin,
               to + i * column.extent, column.extent);
}

Status ConvertedMatmul::multiply(Tiles tiles, int64_t m, int64_t n, int64_t k,
                                 bool add) const {
  int64_t lda = command.transposeA ? m : k, ldb = command.transposeB ? k : n;
  Sgemm product{m, n, k, lda, ldb, n, command.transposeA, command.transposeB};
  product.beta = add ? 1 : 0;
  return product.run(tiles.a, tiles.b, tiles.c);
}

void ConvertedMatmul::round(const float *sums, uint16_t *c, Range m,
                            Range n) const {
#pragma omp parallel for if (walk.threads == 1)
  for (int64_t i = 0; i < m.extent; ++i)
    rows.round(sums + i * n.extent, c + (m.begin + i) * ld.c + n.begin,
               n.extent);
}

} // namespace

Status prepareConvertedMatmul(const MatmulCommand &command, int threads,
                              std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<ConvertedMatmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
