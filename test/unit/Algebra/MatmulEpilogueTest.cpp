// How an epilogue's tensors match a product, against walks over all elements.
#include "tpsp/Algebra/MatmulEpilogue.h"

#include "gtest/gtest.h"

#include <functional>
#include <random>
#include <set>

using namespace tpsp;

namespace {

MatmulForm makeForm(int64_t m, int64_t n, int64_t k, int layout = 0) {
  MatmulForm form;
  form.m = m, form.n = n, form.k = k;
  form.transposeA = layout & 1;
  form.transposeB = layout & 2;
  form.lda = form.transposeA ? m : k;
  form.ldb = form.transposeB ? k : n;
  form.ldc = n;
  return form;
}

using Loops = llvm::ArrayRef<rt::MatmulLoop>;

void forEachOffset(Loops loops, int64_t offset,
                   const std::function<void(int64_t)> &body) {
  if (loops.empty())
    return body(offset);
  for (int64_t i = 0; i < loops[0].extent; ++i)
    forEachOffset(loops.drop_front(), offset + i * loops[0].strideC, body);
}

bool columnsByWalk(const MatmulForm &form) {
  bool good = true;
  forEachOffset(form.batch, 0, [&](int64_t start) {
    for (int64_t i = 0; i < form.m; ++i)
      for (int64_t j = 0; j < form.n; ++j)
        good &= (start + i * form.ldc + j) % form.n == j;
  });
  return good;
}

TEST(MatmulEpilogue, ColumnsRepeatAlongC) {
  std::mt19937 random(7);
  auto pick = [&](int64_t most) { return int64_t(random() % most) + 1; };
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    MatmulForm form = makeForm(pick(4), pick(4), 3);
    form.ldc = form.n * pick(3) + (i % 3 == 0 ? pick(2) : 0);
    for (int64_t loops = random() % 3; loops > 0; --loops)
      form.batch.push_back({pick(3), 0, 0, form.n * pick(4) + (i % 5 == 0)});
    EXPECT_EQ(columnIsOffset(form), columnsByWalk(form));
    found += columnIsOffset(form);
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 1800);
}

/// Whether an operand's sum over k matches, element by element.
bool sumsByWalk(const MatmulForm &form, bool ofA, int64_t elements) {
  int64_t kept = ofA ? form.m : form.n, ld = ofA ? form.lda : form.ldb;
  bool keptIsInner = ofA ? form.transposeA : !form.transposeB;
  std::set<int64_t> seen;
  for (int64_t i = 0; i < kept; ++i)
    for (int64_t k = 0; k < form.k; ++k) {
      int64_t offset = keptIsInner ? k * ld + i : i * ld + k;
      if (offset % kept != i || offset >= elements)
        return false;
      seen.insert(offset);
    }
  return int64_t(seen.size()) == elements;
}

TEST(MatmulEpilogue, SumsOfOperands) {
  int found = 0, missed = 0;
  for (int64_t m : {1, 2, 5})
    for (int64_t n : {1, 3, 4})
      for (int64_t k : {1, 2, 3})
        for (int layout = 0; layout < 4; ++layout)
          for (int64_t padding : {0, 2})
            for (bool ofA : {true, false}) {
              MatmulForm form = makeForm(m, n, k, layout);
              (ofA ? form.lda : form.ldb) += padding;
              int64_t kept = ofA ? m : n;
              for (int64_t elements : {kept * k, kept * k + 1}) {
                bool is = sumIsByOffset(
                    form, ofA ? MatmulTensor::A : MatmulTensor::B, elements);
                bool should = sumsByWalk(form, ofA, elements);
                // The pitch of a dimension of one element does not matter.
                if (is)
                  EXPECT_TRUE(should || kept == 1 || k == 1);
                else
                  EXPECT_FALSE(should && padding == 0);
                (is ? found : missed)++;
              }
            }
  EXPECT_GT(found, 50);
  EXPECT_GT(missed, 50);
}

TEST(MatmulEpilogue, SumsNeedASingleProduct) {
  MatmulForm form = makeForm(4, 5, 6, 1);
  EXPECT_TRUE(sumIsByOffset(form, MatmulTensor::A, 24));
  EXPECT_TRUE(sumIsByOffset(form, MatmulTensor::B, 30));
  EXPECT_FALSE(sumIsByOffset(form, MatmulTensor::C, 20));
  form.batch = {{1, 24, 30, 20}};
  EXPECT_TRUE(sumIsByOffset(form, MatmulTensor::A, 24));
  form.batch = {{2, 24, 30, 20}};
  EXPECT_FALSE(sumIsByOffset(form, MatmulTensor::A, 24));
  form.batch = {};
  form.accumulate = {{2, 24, 30, 0}};
  EXPECT_FALSE(sumIsByOffset(form, MatmulTensor::B, 30));
}

TEST(MatmulEpilogue, Alignment) {
  MatmulForm form = makeForm(4, 16, 3);
  EXPECT_TRUE(isAligned(form, 8));
  form.ldc = 20;
  EXPECT_FALSE(isAligned(form, 8));
  form.m = 1;
  EXPECT_TRUE(isAligned(form, 8));
  form.batch = {{1, 0, 0, 5}, {3, 0, 0, 32}};
  EXPECT_TRUE(isAligned(form, 8));
  form.batch.push_back({2, 0, 0, 100});
  EXPECT_FALSE(isAligned(form, 8));
}

/// C [4, 12] is cut into tiles of rows, of columns, and of columns in two
/// rounds.
TEST(MatmulEpilogue, CutsOfVectors) {
  MatmulForm form = makeForm(4, 12, 3);
  MatmulCut rows = *cutMatmul(form, MatmulTensor::C, {2, 24});
  EXPECT_FALSE(cutColumns(form, rows.form)->tiling);
  ASSERT_TRUE(cutRows(form, rows.form)->tiling);
  EXPECT_EQ(cutRows(form, rows.form)->tiling->tiles, 2);
  EXPECT_EQ(cutRows(form, rows.form)->tiling->chunk, 2);
  MatmulCut columns = *cutMatmul(form, MatmulTensor::C, {3, 4});
  ASSERT_TRUE(cutColumns(form, columns.form)->tiling);
  EXPECT_EQ(cutColumns(form, columns.form)->tiling->tiles, 3);
  EXPECT_EQ(cutColumns(form, columns.form)->tiling->chunk, 4);
  EXPECT_FALSE(cutRows(form, columns.form)->tiling);
  std::optional<MatmulCut> rounds = cutMatmul(form, MatmulTensor::C, {3, 2});
  ASSERT_TRUE(rounds);
  EXPECT_FALSE(cutColumns(form, rounds->form));
}

} // namespace
