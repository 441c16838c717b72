/// Grouped matmuls against plain loops in double. Every row is multiplied by
/// the matrix that its integer chooses.
#include "ConformanceWorld.h"
#include "MatmulLoops.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

/// Calls body(offsets, ids) for every point of the loops, with the offsets of
/// its matrices and of its first row's integer.
template <typename Body>
void forEachStep(const std::vector<MatmulLoop> &loops, const int64_t *strides,
                 const Body &body) {
  int64_t points = 1;
  for (const MatmulLoop &loop : loops)
    points *= loop.extent;
  for (int64_t i = 0; i < points; ++i) {
    int64_t a = 0, b = 0, c = 0, ids = 0, left = i;
    for (size_t l = loops.size(); l-- > 0;) {
      int64_t at = left % loops[l].extent;
      left /= loops[l].extent;
      a += at * loops[l].strideA, b += at * loops[l].strideB;
      c += at * loops[l].strideC, ids += at * strides[l];
    }
    body(a, b, c, ids);
  }
}

/// The expected C: NaN where the command does not write.
std::vector<double> expected(const GroupedMatmulCommand &g, int64_t first,
                             const std::vector<double> &a,
                             const std::vector<double> &b,
                             const std::vector<double> &ids, int64_t countC) {
  std::vector<double> result(countC, std::nan(""));
  const int64_t *strides = g.idStrides.data();
  auto groupOf = [&](int64_t at) {
    auto group = int64_t(ids[at]) - first;
    return group >= 0 && group < g.groups ? group : -1;
  };
  auto at = [](const std::vector<double> &x, bool transpose, int64_t ld,
               int64_t row, int64_t column) {
    return transpose ? x[column * ld + row] : x[row * ld + column];
  };
  auto shifted = [](const std::vector<double> &x, int64_t by) {
    return std::vector<double>(x.begin() + std::min<int64_t>(by, x.size()),
                               x.end());
  };
  forEachStep(
      g.batch, strides, [&](int64_t pa, int64_t pb, int64_t pc, int64_t pi) {
        for (int64_t group = 0; group < (g.sumsRows ? g.groups : 1); ++group)
          for (int64_t i = 0; i < g.m; ++i)
            for (int64_t j = 0; j < g.n; ++j)
              result[pc + group * (g.sumsRows ? g.groupStride : 0) + i * g.ldc +
                     j] = 0;
        forEachStep(
            g.accumulate, strides + g.batch.size(),
            [&](int64_t sa, int64_t sb, int64_t, int64_t si) {
              std::vector<double> x = shifted(a, pa + sa);
              for (int64_t row = 0; row < g.rows(); ++row) {
                int64_t group = groupOf(pi + si + row);
                if (group < 0)
                  continue;
                int64_t chosen = group * g.groupStride;
                std::vector<double> y =
                    shifted(b, pb + sb + (g.sumsRows ? 0 : chosen));
                for (int64_t i = g.sumsRows ? 0 : row;
                     i < (g.sumsRows ? g.m : row + 1); ++i)
                  for (int64_t j = 0; j < g.n; ++j)
                    for (int64_t k = g.sumsRows ? row : 0;
                         k < (g.sumsRows ? row + 1 : g.k); ++k)
                      result[pc + (g.sumsRows ? chosen : 0) + i * g.ldc + j] +=
                          at(x, g.transposeA, g.lda, i, k) *
                          at(y, g.transposeB, g.ldb, k, j);
              }
            });
      });
  return result;
}

/// A command of m x n x k with rows along m or along k, and four matrices of
/// one layout.
GroupedMatmulCommand makeGrouped(int64_t dtype, bool sumsRows, int64_t m,
                                 int64_t n, int64_t k, int layout,
                                 int64_t padding) {
  GroupedMatmulCommand c;
  c.dtype = dtype;
  layOut(c, m, n, k, layout, padding);
  c.sumsRows = sumsRows;
  c.groups = 4;
  c.groupStride =
      (sumsRows ? m * c.ldc
                : std::max(c.transposeB ? n : k, int64_t(1)) * c.ldb) +
      padding;
  return c;
}

/// The integers of the rows. `Mixed` and `Sorted` have those of all groups and
/// one out of range on either side. `OfOne` has one group's, `OfNone` one out
/// of range.
enum class Rows { Mixed, Sorted, OfOne, OfNone };

void chooseGroups(Rows rows, int64_t first, int64_t groups,
                  std::mt19937 &random, std::vector<double> &ids) {
  // From one before the first matrix to one after the last.
  std::uniform_int_distribution<int64_t> any(first - 1, first + groups);
  for (double &id : ids)
    id = double(any(random));
  if (rows == Rows::Sorted)
    std::sort(ids.begin(), ids.end());
  if (rows == Rows::OfOne)
    std::fill(ids.begin(), ids.end(), double(first + groups - 1));
  if (rows == Rows::OfNone)
    std::fill(ids.begin(), ids.end(), double(first + groups));
}

class GroupedMatmulTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "grouped_matmul"; }

  void check(const GroupedMatmulCommand &g, double tolerance, Rows rows,
             int64_t first = 0) {
    std::vector<BufferUse> uses = g.buffers(1);
    std::vector<int64_t> offsets;
    int64_t arena = 0;
    for (const BufferUse &use : uses) {
      offsets.push_back(arena);
      arena += (use.elements * elementBytes(use.dtype) + 127) / 64 * 64;
    }
    Plan plan;
    plan.add(tpsp_rt_grouped_matmul, g.encode(), offsets);
    auto world = makeWorld(config({}, arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      std::vector<std::vector<double>> values;
      for (const BufferUse &use : uses)
        values.push_back(randomValues(use.dtype, use.elements, random));
      chooseGroups(rows, first, g.groups, random, values[2]);
      std::vector<std::byte> after;
      Status status = world->run([&](Rank &rank) -> Status {
        if (Status s = poison(rank, arena); !s.ok())
          return s;
        for (size_t i = 0; i < 3; ++i) {
          std::vector<std::byte> bytes = toBytes(uses[i].dtype, values[i]);
          if (Status s = rank.write(offsets[i], bytes.data(), bytes.size());
              !s.ok())
            return s;
        }
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
        return snapshot(rank, arena, after);
      });
      ASSERT_TRUE(status.ok()) << status.message();
      int64_t count = uses[3].elements;
      std::vector<double> got =
          fromBytes(g.dtype, after.data() + offsets[3], count);
      expectElements(got,
                     expected(g, first, values[0], values[1], values[2], count),
                     tolerance);
    }
  }
};

TEST_P(GroupedMatmulTest, OddExtentsAndLayouts) {
  const int64_t extents[][3] = {{1, 1, 1},  {1, 17, 5},  {17, 1, 5},
                                {5, 17, 1}, {13, 7, 11}, {65, 33, 70}};
  for (TypeCase type : productTypes)
    for (const auto &e : extents)
      for (int layout = 0; layout < 4; ++layout)
        for (bool sumsRows : {false, true})
          for (bool isSorted : {false, true}) {
            if (isLeftOut())
              continue;
            SCOPED_TRACE(testing::Message()
                         << elementName(type.dtype) << " " << e[0] << "x"
                         << e[1] << "x" << e[2] << " layout " << layout
                         << (sumsRows ? " sums rows" : "")
                         << (isSorted ? " sorted" : "") << " seed "
                         << testSeed());
            check(makeGrouped(type.dtype, sumsRows, e[0], e[1], e[2], layout,
                              /*padding=*/isSorted ? 3 : 0),
                  type.tolerance, isSorted ? Rows::Sorted : Rows::Mixed);
          }
}

/// Several of a GPU's tiles along each dimension. Rows begin at multiples of 16
/// bytes and may end between them.
TEST_P(GroupedMatmulTest, ManyTiles) {
  const int64_t extents[][3] = {{276, 132, 180}, {132, 260, 44}, {36, 20, 300}};
  for (TypeCase type : productTypes)
    for (const auto &e : extents)
      for (int layout = 0; layout < 4; ++layout)
        for (bool sumsRows : {false, true}) {
          if (isLeftOut())
            continue;
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " " << e[0] << "x" << e[1]
                       << "x" << e[2] << " layout " << layout
                       << (sumsRows ? " sums rows" : "") << " seed "
                       << testSeed());
          check(makeGrouped(type.dtype, sumsRows, e[0], e[1], e[2], layout,
                            /*padding=*/4),
                // The sums are longer than elsewhere.
                2 * type.tolerance, layout % 3 ? Rows::Sorted : Rows::Mixed);
        }
}

/// Matrices whose lines begin and end at multiples of 16 bytes, as products by
/// warpgroups need them.
TEST_P(GroupedMatmulTest, WholeChunks) {
  const int64_t extents[][3] = {
      {136, 264, 200}, {136, 8, 328}, {8, 264, 64}, {72, 16, 8}};
  for (TypeCase type : productTypes) {
    if (!halfFloat(type.dtype))
      continue; // other types have no products by warpgroups
    int layouts = type.dtype == TPSP_RT_BF16 ? 4 : 1;
    for (const auto &e : extents)
      for (int layout = 0; layout < layouts; ++layout)
        for (bool sumsRows : {false, true}) {
          if (isLeftOut())
            continue;
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " " << e[0] << "x" << e[1]
                       << "x" << e[2] << " layout " << layout
                       << (sumsRows ? " sums rows" : "") << " seed "
                       << testSeed());
          GroupedMatmulCommand c =
              makeGrouped(type.dtype, sumsRows, e[0], e[1], e[2], layout,
                          /*padding=*/8);
          check(c, 2 * type.tolerance, layout % 3 ? Rows::Sorted : Rows::Mixed);
          if (e[0] != 72)
            continue;
          // Every point and step has matrices of its own.
          c.batch = {{2, 72 * 80, 2 * 72 * 80, 4 * 80 * 80}};
          c.accumulate = {{3, 2 * 72 * 80, 4 * 4 * 80 * 80, 0}};
          c.idStrides = {c.rows(), sumsRows ? 2 * c.rows() : 0};
          check(c, 3 * type.tolerance, Rows::Mixed);
        }
  }
}

TEST_P(GroupedMatmulTest, RowsOfOneGroupAndOfNone) {
  for (TypeCase type : productTypes)
    for (bool sumsRows : {false, true})
      for (Rows rows : {Rows::OfOne, Rows::OfNone})
        for (int64_t groups : {1, 3, 70}) {
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " " << groups << " groups"
                       << (sumsRows ? " sums rows" : "") << " seed "
                       << testSeed());
          GroupedMatmulCommand c =
              makeGrouped(type.dtype, sumsRows, 150, 11, 13, /*layout=*/0, 3);
          c.groups = groups;
          check(c, type.tolerance, rows, /*first=*/0);
        }
}

TEST_P(GroupedMatmulTest, MoreGroupsThanRows) {
  for (bool sumsRows : {false, true})
    for (Rows rows : {Rows::Mixed, Rows::Sorted}) {
      GroupedMatmulCommand c =
          makeGrouped(TPSP_RT_F32, sumsRows, 19, 5, 19, 0, 1);
      c.groups = 130;
      check(c, 3e-6, rows);
      c.groups = 0;
      check(c, 0, rows);
    }
}

TEST_P(GroupedMatmulTest, LoopsAndShardsOfTheMatrices) {
  for (TypeCase type : productTypes)
    for (bool sumsRows : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << elementName(type.dtype) << " seed " << testSeed());
      GroupedMatmulCommand c =
          makeGrouped(type.dtype, sumsRows, 9, 6, 8, /*layout=*/0, 1);
      int64_t a = 9 * 9, b = 9 * 9 * 4, area = 9 * 7 * 4 + 5;
      // Every point of the batch has its own integers; with rows along k, every
      // step has, too.
      c.batch = {{3, a, b, area}};
      c.accumulate = {{2, 3 * a, 3 * b, 0}};
      c.idStrides = {c.rows(), sumsRows ? 3 * c.rows() : 0};
      c.firstGroup.offset = 8;
      check(c, type.tolerance, Rows::Mixed, /*first=*/8);
      c.batch[0].extent = 1;
      check(c, type.tolerance, Rows::Sorted, /*first=*/8);
    }
}

TEST_P(GroupedMatmulTest, SumsOverNothingAreZero) {
  for (bool sumsRows : {false, true}) {
    check(makeGrouped(TPSP_RT_F32, sumsRows, 5, 3, 0, 0, 1), 0, Rows::Mixed);
    GroupedMatmulCommand none =
        makeGrouped(TPSP_RT_F32, sumsRows, 5, 3, 4, 0, 1);
    none.m = 0;
    check(none, 0, Rows::Mixed);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GroupedMatmulTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
