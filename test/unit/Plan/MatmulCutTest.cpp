#include "MatmulCases.h"

#include "tpsp/Algebra/MatmulCut.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

/// Adds the product to the elements of `c` that it covers.
void addProduct(const MatmulForm &form, const Numbers &a, const Numbers &b,
                Numbers &c, Offsets at) {
  auto forEach = [](const auto &loops, Offsets start, auto body) {
    int64_t points = 1;
    for (const rt::MatmulLoop &loop : loops)
      points *= loop.extent;
    for (int64_t point = 0; point < points; ++point) {
      Offsets offsets = start;
      int64_t rest = point;
      for (const rt::MatmulLoop &loop : loops) {
        int64_t position = rest % loop.extent;
        rest /= loop.extent;
        offsets.a += position * loop.strideA;
        offsets.b += position * loop.strideB;
        offsets.c += position * loop.strideC;
      }
      body(offsets);
    }
  };
  forEach(form.batch, at, [&](Offsets point) {
    forEach(form.accumulate, point, [&](Offsets step) {
      for (int64_t i = 0; i < form.m; ++i)
        for (int64_t j = 0; j < form.n; ++j)
          for (int64_t l = 0; l < form.k; ++l)
            c.at(step.c + i * form.ldc + j) +=
                a.at(step.a +
                     (form.transposeA ? l * form.lda + i : i * form.lda + l)) *
                b.at(step.b +
                     (form.transposeB ? j * form.ldb + l : l * form.ldb + j));
    });
  });
}

/// Returns tile `number`, dense.
Numbers tileOf(const Numbers &whole, Tiling tiling, int64_t number) {
  Numbers tile;
  int64_t period = tiling.tiles * tiling.chunk;
  for (size_t outer = 0; outer < whole.size() / period; ++outer) {
    auto begin = whole.begin() + outer * period + number * tiling.chunk;
    tile.insert(tile.end(), begin, begin + tiling.chunk);
  }
  return tile;
}

struct Tally {
  int cut = 0, refused = 0;
};

/// Cuts the product in every way that `tensor` allows.
void checkCuts(const IndexStructure &structure, MatmulTensor tensor,
               Tally &tally) {
  MatmulMatch match = matchMatmul(structure);
  if (match.obstacle != MatmulObstacle::None)
    return;
  const MatmulForm &form = match.form;
  Numbers first = testData(structure.operands[0], 1);
  Numbers second = testData(structure.operands[1], 2);
  const Numbers &a = match.isSwapped ? second : first;
  const Numbers &b = match.isSwapped ? first : second;
  Numbers expected = evaluateEinsum(structure, first, second);
  const Numbers *tensors[] = {&a, &b, &expected};
  int64_t size = tensors[size_t(tensor)]->size();
  for (int64_t tiles = 2; tiles <= 4; ++tiles)
    for (int64_t chunk = 1; chunk * tiles <= size; ++chunk) {
      if (size % (tiles * chunk) != 0)
        continue;
      std::optional<MatmulCut> cut = cutMatmul(form, tensor, {tiles, chunk});
      ++(cut ? tally.cut : tally.refused);
      if (!cut)
        continue;
      ASSERT_EQ(cut->tilingOf(tensor)->chunk, chunk);
      Numbers result(expected.size(), 0);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        Offsets at;
        int64_t *offsets[] = {&at.a, &at.b, &at.c};
        for (size_t i = 0; i < 3; ++i)
          if (cut->tilings[i])
            *offsets[i] = tile * cut->tilings[i]->chunk;
        addProduct(cut->form, a, b, result, at);

        // Every tensor that the cut divides becomes a separate buffer.
        MatmulCut dense = *cut;
        Numbers denseA = a, denseB = b, tileC = expected;
        Numbers *copies[] = {&denseA, &denseB, &tileC};
        for (size_t i = 0; i < 3; ++i)
          if (cut->tilings[i]) {
            *copies[i] = tileOf(*tensors[i], *cut->tilings[i], tile);
            dense.compact(MatmulTensor(i));
          }
        std::string error;
        ASSERT_EQ(evaluateForm(dense.form, denseA, denseB, tileC.size(), error),
                  tileC)
            << toString(structure);
        ASSERT_EQ(error, "") << toString(structure);
      }
      ASSERT_EQ(result, expected) << toString(structure);
    }
}

TEST(MatmulCutTest, TilesTogetherAreTheProduct) {
  Tally tally;
  std::mt19937 engine(5);
  for (int i = 0; i < 3000 && !testing::Test::HasFatalFailure(); ++i) {
    IndexStructure structure = randomProduct(3 + i % 4, engine);
    for (MatmulTensor tensor :
         {MatmulTensor::A, MatmulTensor::B, MatmulTensor::C})
      checkCuts(structure, tensor, tally);
  }
  std::printf("%d cuts, %d refused\n", tally.cut, tally.refused);
  EXPECT_GT(tally.cut, 2000);
}

/// x[b, s, d], gathered on s, times w[e, d]. Rows of one batch entry are
/// neighbours.
TEST(MatmulCutTest, ASequenceShardIsABatchOfRows) {
  MatmulForm form;
  form.m = 2 * 12, form.n = 5, form.k = 7;
  form.lda = form.ldb = 7, form.ldc = 5;
  form.transposeB = true;
  auto cut = cutMatmul(form, MatmulTensor::A, {4, 3 * 7});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->form.m, 3);
  ASSERT_EQ(cut->form.batch.size(), 1u);
  EXPECT_EQ(cut->form.batch[0].extent, 2);
  EXPECT_EQ(cut->form.batch[0].strideA, 12 * 7);
  EXPECT_EQ(cut->form.batch[0].strideC, 12 * 5);
  EXPECT_EQ(cut->tilingOf(MatmulTensor::C)->chunk, 3 * 5);
  EXPECT_FALSE(cut->tilingOf(MatmulTensor::B));
}

TEST(MatmulCutTest, SummedIndicesAreNotCut) {
  MatmulForm form;
  form.m = 4, form.n = 5, form.k = 8;
  form.lda = 8, form.ldb = 5, form.ldc = 5;
  EXPECT_FALSE(cutMatmul(form, MatmulTensor::A, {2, 4}));
  EXPECT_FALSE(cutMatmul(form, MatmulTensor::B, {2, 4 * 5}));
}

} // namespace
