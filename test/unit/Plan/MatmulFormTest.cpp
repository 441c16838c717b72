#include "MatmulCases.h"

#include <gtest/gtest.h>

using namespace tpsp;

/// Counts of the cases' outcomes.
struct Tally {
  int none = 0, notAProduct = 0, layout = 0;
};

static void count(MatmulObstacle obstacle, Tally &tally) {
  switch (obstacle) {
  case MatmulObstacle::None:
    ++tally.none;
    return;
  case MatmulObstacle::NotAProduct:
    ++tally.notAProduct;
    return;
  case MatmulObstacle::Layout:
    ++tally.layout;
    return;
  }
}

static void checkValue(const IndexStructure &structure,
                       const MatmulMatch &match) {
  Numbers first = testData(structure.operands[0], 1);
  Numbers second = testData(structure.operands[1], 2);
  Numbers expected = evaluateEinsum(structure, first, second);
  std::string error;
  bool isSwapped = match.isSwapped;
  Numbers value =
      evaluateForm(match.form, isSwapped ? second : first,
                   isSwapped ? first : second, expected.size(), error);
  ASSERT_EQ(error, "") << toString(structure);
  ASSERT_EQ(value, expected) << toString(structure);
}

TEST(MatmulFormTest, FormsAreTheEinsumInEveryOrderOfDimensions) {
  Tally tally;
  forEachEinsum(4, [&](const IndexStructure &structure) {
    if (testing::Test::HasFatalFailure())
      return;
    MatmulMatch match = matchMatmul(structure);
    count(match.obstacle, tally);
    if (match.obstacle == MatmulObstacle::None)
      checkValue(structure, match);
  });
  std::printf("%d forms, %d without a product, %d without a layout\n",
              tally.none, tally.notAProduct, tally.layout);
  EXPECT_GT(tally.none, 4000);
  EXPECT_GT(tally.notAProduct, 10000);
}

TEST(MatmulFormTest, FormsOfManyIndicesAreTheEinsum) {
  Tally tally;
  std::mt19937 engine(1);
  for (int i = 0; i < 20000 && !testing::Test::HasFatalFailure(); ++i) {
    IndexStructure structure = randomProduct(5 + i % 3, engine);
    MatmulMatch match = matchMatmul(structure);
    count(match.obstacle, tally);
    if (match.obstacle == MatmulObstacle::None)
      checkValue(structure, match);
  }
  std::printf("%d forms, %d without a product, %d without a layout\n",
              tally.none, tally.notAProduct, tally.layout);
  EXPECT_GT(tally.none, 4000);
}

TEST(MatmulFormTest, FindsAFormWhereSingleIndicesHaveOne) {
  int possible = 0;
  forEachEinsum(4, [&](const IndexStructure &structure) {
    int64_t largest = largestPlainForm(structure);
    if (largest == 0 || testing::Test::HasFatalFailure())
      return;
    MatmulMatch match = matchMatmul(structure);
    if (match.obstacle == MatmulObstacle::NotAProduct)
      return; // an index that is summed in only one operand
    ++possible;
    ASSERT_EQ(match.obstacle, MatmulObstacle::None) << toString(structure);
    ASSERT_GE(match.form.m * match.form.n * match.form.k, largest)
        << toString(structure);
  });
  std::printf("%d cases\n", possible);
  EXPECT_GT(possible, 300);
}

/// Returns the einsum "ab,bc->ac" with these extents, in order of first
/// appearance.
static IndexStructure einsum(llvm::StringRef text,
                             std::vector<int64_t> extents) {
  IndexStructure structure;
  auto [operands, result] = text.split("->");
  auto [first, second] = operands.split(",");
  auto tensor = [&](llvm::StringRef names) {
    IndexStructure::Tensor made;
    for (char name : names) {
      size_t known = structure.indices.size();
      IndexId index = structure.intern(
          std::string(1, name), known < extents.size() ? extents[known] : 0);
      made.indices.push_back(index);
      made.shape.push_back(structure.indices[index].extent);
    }
    return made;
  };
  structure.operands.push_back(tensor(first));
  structure.operands.push_back(tensor(second));
  structure.results.push_back(tensor(result));
  return structure;
}

static MatmulForm formOf(llvm::StringRef text, std::vector<int64_t> extents) {
  IndexStructure structure = einsum(text, std::move(extents));
  MatmulMatch match = matchMatmul(structure);
  EXPECT_EQ(match.obstacle, MatmulObstacle::None) << text.str();
  if (match.obstacle == MatmulObstacle::None)
    checkValue(structure, match);
  return match.form;
}

/// Matches "ids,x,w->y" over one-letter indices. Integers choose along i.
static GroupedMatmulMatch grouped(llvm::StringRef text,
                                  std::vector<int64_t> extents) {
  auto [first, rest] = text.split(',');
  IndexStructure structure = einsum(rest, extents);
  IndexStructure::Tensor ids;
  for (char name : first) {
    IndexId index = structure.intern(std::string(1, name), 0);
    ids.indices.push_back(index);
    ids.shape.push_back(structure.indices[index].extent);
  }
  structure.operands.insert(structure.operands.begin(), std::move(ids));
  return matchGroupedMatmul(structure, structure.intern("i", 0));
}

TEST(MatmulFormTest, RowsWithTheirMatrices) {
  // Blocks j of i matrices, and rows c in groups g.
  GroupedMatmulMatch match = grouped("jgc,jifd,jgcd->jgcf", {2, 5, 9, 6, 3, 7});
  ASSERT_EQ(match.obstacle, MatmulObstacle::None);
  EXPECT_TRUE(match.isSwapped);
  const GroupedMatmulForm &form = match.form;
  EXPECT_FALSE(form.sumsRows);
  EXPECT_EQ(form.m, 3 * 7); // g and c, as one
  EXPECT_EQ(form.n, 9);
  EXPECT_EQ(form.k, 6);
  EXPECT_TRUE(form.transposeB);
  EXPECT_EQ(form.groups, 5);
  EXPECT_EQ(form.groupStride, 9 * 6);
  ASSERT_EQ(form.batch.size(), 1u);
  EXPECT_EQ(form.batch[0].strideB, 5 * 9 * 6);
  EXPECT_EQ(form.idStrides, (std::vector<int64_t>{3 * 7}));
}

TEST(MatmulFormTest, MatricesOfTheirRows) {
  // The rows of different groups are not neighbours, so groups are steps of the
  // sum.
  GroupedMatmulMatch match = grouped("gjc,gjcf,gjcd->jifd", {3, 2, 7, 9, 6, 5});
  ASSERT_EQ(match.obstacle, MatmulObstacle::None);
  const GroupedMatmulForm &form = match.form;
  EXPECT_TRUE(form.sumsRows);
  EXPECT_EQ(form.k, 7);
  EXPECT_EQ(form.groups, 5);
  EXPECT_EQ(form.groupStride, 9 * 6);
  ASSERT_EQ(form.batch.size(), 1u);
  ASSERT_EQ(form.accumulate.size(), 1u);
  EXPECT_EQ(form.idStrides, (std::vector<int64_t>{7, 2 * 7}));
}

TEST(MatmulFormTest, GroupedProductsWithoutAForm) {
  // Integers of neighbouring rows are not neighbours.
  EXPECT_EQ(grouped("cj,jifd,jcd->jcf", {2, 5, 9, 6, 7}).obstacle,
            MatmulObstacle::Layout);
  // The rows are not neighbours either; the matrices come first.
  EXPECT_EQ(grouped("gbe,ia,egab->gbe", {1, 2, 3, 2, 5}).obstacle,
            MatmulObstacle::Layout);
  // Every row has its own matrices.
  EXPECT_EQ(grouped("c,cifd,cd->cf", {7, 5, 9, 6}).obstacle,
            MatmulObstacle::NotAProduct);
  // Two tensors have the index along which integers choose.
  EXPECT_EQ(grouped("c,ifd,icd->cf", {5, 9, 6, 7}).obstacle,
            MatmulObstacle::NotAProduct);
}

static MatmulObstacle obstacleOf(llvm::StringRef text,
                                 std::vector<int64_t> extents) {
  return matchMatmul(einsum(text, std::move(extents))).obstacle;
}

TEST(MatmulFormTest, NeighbouringIndicesActAsOne) {
  // A weight of (h k) x d on activations (b s) x d.
  MatmulForm form = formOf("hkd,bsd->bshk", {4, 8, 16, 2, 3});
  EXPECT_TRUE(matchMatmul(einsum("hkd,bsd->bshk", {4, 8, 16, 2, 3})).isSwapped);
  EXPECT_EQ(form.m, 6);
  EXPECT_EQ(form.n, 32);
  EXPECT_EQ(form.k, 16);
  EXPECT_TRUE(form.transposeB);
  EXPECT_TRUE(form.batch.empty());
  EXPECT_TRUE(form.accumulate.empty());
}

TEST(MatmulFormTest, HeadsAreABatchOfStridedMatrices) {
  MatmulForm form = formOf("bshk,bthk->bhst", {2, 5, 3, 8, 7});
  EXPECT_EQ(form.m, 5);
  EXPECT_EQ(form.n, 7);
  EXPECT_EQ(form.k, 8);
  EXPECT_EQ(form.lda, 3 * 8);
  EXPECT_EQ(form.ldb, 3 * 8);
  EXPECT_EQ(form.ldc, 7);
  EXPECT_EQ(form.batch.size(), 2u);
}

TEST(MatmulFormTest, SummedIndicesThatAreApartAreAccumulated) {
  // A weight's gradient. The batch and the sequence are not neighbours.
  MatmulForm form = formOf("bhsd,bshe->de", {2, 3, 5, 4, 6});
  ASSERT_EQ(form.accumulate.size(), 2u);
  EXPECT_EQ(form.accumulate[0].strideC, 0);
  EXPECT_TRUE(form.batch.empty());
}

TEST(MatmulFormTest, ExtentsOfOneAreImmaterial) {
  MatmulForm form = formOf("asb,bcs->acs", {4, 1, 5, 6});
  EXPECT_EQ(form.m * form.n * form.k, 4 * 5 * 6);
  EXPECT_TRUE(form.batch.empty());
}

TEST(MatmulFormTest, OuterAndElementwiseProductsAreNone) {
  EXPECT_EQ(obstacleOf("a,b->ab", {2, 3}), MatmulObstacle::NotAProduct);
  EXPECT_EQ(obstacleOf("ab,ab->ab", {2, 3}), MatmulObstacle::NotAProduct);
}

TEST(MatmulFormTest, DotProductsAreNone) {
  EXPECT_EQ(obstacleOf("a,a->", {4}), MatmulObstacle::NotAProduct);
  EXPECT_EQ(obstacleOf("ab,ab->a", {4, 5}), MatmulObstacle::NotAProduct);
}

TEST(MatmulFormTest, AMatrixByAVectorIsOne) {
  MatmulForm form = formOf("ab,b->a", {4, 5});
  EXPECT_EQ(form.m * form.n * form.k, 20);
}

TEST(MatmulFormTest, AnIndexSummedInOneOperandAloneIsNone) {
  EXPECT_EQ(obstacleOf("abx,bc->ac", {2, 3, 4, 5}),
            MatmulObstacle::NotAProduct);
}

TEST(MatmulFormTest, AMatrixWithoutAContiguousDimensionIsALayoutObstacle) {
  // The batch is innermost in all tensors.
  EXPECT_EQ(obstacleOf("ikb,kjb->ijb", {2, 3, 4, 5}), MatmulObstacle::Layout);
}
