/// Matmuls of every layout against plain loops in double.
#include "ConformanceWorld.h"
#include "MatmulLoops.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>
#include <limits>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

/// The expected C: NaN where the command does not write.
std::vector<double> expectedProduct(const MatmulCommand &m,
                                    const std::vector<double> &a,
                                    const std::vector<double> &b,
                                    int64_t countC) {
  std::vector<double> result(countC, std::nan(""));
  forEachPoint(m.batch, [&](int64_t pa, int64_t pb, int64_t pc) {
    for (int64_t i = 0; i < m.m; ++i)
      for (int64_t j = 0; j < m.n; ++j) {
        double sum = 0;
        forEachPoint(m.accumulate, [&](int64_t sa, int64_t sb, int64_t) {
          for (int64_t k = 0; k < m.k; ++k)
            sum += a[pa + sa + (m.transposeA ? k * m.lda + i : i * m.lda + k)] *
                   b[pb + sb + (m.transposeB ? j * m.ldb + k : k * m.ldb + j)];
        });
        result[pc + i * m.ldc + j] = sum;
      }
  });
  return result;
}

/// Elements of each matrix up to the last that the command touches.
struct Counts {
  int64_t a, b, c;
};

Counts countsOf(const MatmulCommand &m) {
  auto last = [](int64_t rows, int64_t columns, int64_t ld) {
    return (rows - 1) * ld + columns;
  };
  Counts counts = {m.transposeA ? last(m.k, m.m, m.lda) : last(m.m, m.k, m.lda),
                   m.transposeB ? last(m.n, m.k, m.ldb) : last(m.k, m.n, m.ldb),
                   last(m.m, m.n, m.ldc)};
  for (const auto *loops : {&m.batch, &m.accumulate})
    for (const MatmulLoop &loop : *loops) {
      counts.a += (loop.extent - 1) * loop.strideA;
      counts.b += (loop.extent - 1) * loop.strideB;
      counts.c += (loop.extent - 1) * loop.strideC;
    }
  return counts;
}

/// A command with dense operands, padded by `padding` elements a row.
MatmulCommand makeMatmul(int64_t dtype, int64_t m, int64_t n, int64_t k,
                         int layout, int64_t padding) {
  MatmulCommand c;
  c.dtype = dtype;
  layOut(c, m, n, k, layout, padding);
  return c;
}

class MatmulTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "matmul"; }

  /// Runs the command a few times on poisoned arenas and compares all of C's
  /// span, gaps included.
  void check(const MatmulCommand &m, double tolerance) {
    Counts counts = countsOf(m);
    int64_t width = elementBytes(m.dtype);
    auto roundUp = [](int64_t bytes) { return (bytes + 127) / 64 * 64; };
    int64_t offsetB = roundUp(counts.a * width);
    int64_t offsetC = offsetB + roundUp(counts.b * width);
    int64_t arena = offsetC + roundUp(counts.c * width);
    Plan plan;
    plan.add(tpsp_rt_matmul, m.encode(), {0, offsetB, offsetC});
    auto world = makeWorld(config({}, arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      auto a = randomValues(m.dtype, counts.a, random);
      auto b = randomValues(m.dtype, counts.b, random);
      auto bytesA = toBytes(m.dtype, a), bytesB = toBytes(m.dtype, b);
      std::vector<std::byte> after;
      Status status = world->run([&](Rank &rank) -> Status {
        if (Status s = poison(rank, arena); !s.ok())
          return s;
        if (Status s = rank.write(0, bytesA.data(), counts.a * width); !s.ok())
          return s;
        if (Status s = rank.write(offsetB, bytesB.data(), counts.b * width);
            !s.ok())
          return s;
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
        return snapshot(rank, arena, after);
      });
      ASSERT_TRUE(status.ok()) << status.message();
      auto got = fromBytes(m.dtype, after.data() + offsetC, counts.c);
      expectElements(got, expectedProduct(m, a, b, counts.c), tolerance);
    }
  }
};

TEST_P(MatmulTest, OddExtentsAndLayouts) {
  const int64_t extents[][3] = {{1, 1, 1},    {1, 17, 5},   {17, 1, 5},
                                {5, 17, 1},   {1, 1, 129},  {7, 13, 11},
                                {64, 32, 48}, {65, 127, 33}};
  for (TypeCase type : productTypes)
    for (const auto &e : extents)
      for (int layout = 0; layout < 4; ++layout)
        for (int64_t padding : {0, 3}) {
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " " << e[0] << "x" << e[1]
                       << "x" << e[2] << " layout " << layout << " padding "
                       << padding << " seed " << testSeed());
          check(makeMatmul(type.dtype, e[0], e[1], e[2], layout, padding),
                type.tolerance);
        }
}

TEST_P(MatmulTest, BatchesWithGapsAndBroadcasts) {
  for (TypeCase type : productTypes)
    for (int layout = 0; layout < 4; ++layout) {
      SCOPED_TRACE(testing::Message() << elementName(type.dtype) << " layout "
                                      << layout << " seed " << testSeed());
      MatmulCommand c = makeMatmul(type.dtype, 5, 6, 7, layout, 2);
      int64_t a = 9 * 9, b = 9 * 9, area = 5 * 8 + 3;
      c.batch = Loops{{3, a, b, area}};
      check(c, type.tolerance);
      c.batch = Loops{{2, 0, 3 * b, 3 * area}, {3, a, 0, area}};
      check(c, type.tolerance);
    }
}

/// A few rows of each of several sequences, all with the same weights.
TEST_P(MatmulTest, BatchesThatShareB) {
  for (TypeCase type : productTypes)
    for (int layout = 0; layout < 4; ++layout)
      for (int64_t gap : {0, 7})
        for (int64_t rows : {1, 3, 40}) {
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " layout " << layout
                       << " gap " << gap << " rows " << rows << " seed "
                       << testSeed());
          MatmulCommand c = makeMatmul(type.dtype, rows, 67, 53, layout, 1);
          int64_t a = std::max(rows, c.k) * 60, area = rows * c.ldc;
          // Matrices of C that follow each other, or with a gap; those of A
          // never do.
          c.batch = Loops{{3, a, 0, area + gap}};
          check(c, type.tolerance);
          // A's matrices follow each other, so that one product could have all
          // the rows.
          c.batch = Loops{{3, rows * c.lda, 0, area + gap}};
          if (!c.transposeA)
            check(c, type.tolerance);
        }
}

/// Heads side by side in one row: the batch runs along the columns.
TEST_P(MatmulTest, InterleavedBatch) {
  for (TypeCase type : productTypes) {
    MatmulCommand c = makeMatmul(type.dtype, 9, 4, 8, 0, 0);
    c.lda = 3 * 8, c.ldb = 3 * 4, c.ldc = 3 * 4;
    c.batch = Loops{{3, 8, 4, 4}};
    check(c, type.tolerance);
  }
}

TEST_P(MatmulTest, AccumulatesOverLoops) {
  for (TypeCase type : productTypes)
    for (int layout = 0; layout < 4; ++layout) {
      SCOPED_TRACE(testing::Message() << elementName(type.dtype) << " layout "
                                      << layout << " seed " << testSeed());
      MatmulCommand c = makeMatmul(type.dtype, 5, 6, 7, layout, 1);
      c.accumulate = Loops{{2, 200, 300, 0}, {3, 64, 80, 0}};
      check(c, type.tolerance);
      c.batch = Loops{{4, 11, 0, 5 * 7}};
      check(c, type.tolerance);
    }
}

/// 512 steps of one product each: a sum kept in 16 bits would be far off.
TEST_P(MatmulTest, AccumulatesInF32) {
  for (const HalfFloat &half : halfFloats) {
    MatmulCommand c = makeMatmul(half.dtype, 3, 4, 1, 0, 0);
    c.accumulate = Loops{{512, 3, 4, 0}};
    check(c, half.epsilon + 3e-6);
  }
}

/// An intermediate sum may exceed the range of f16. Only a stored result
/// becomes infinite.
TEST_P(MatmulTest, OnlyResultsOverflow) {
  MatmulCommand c = makeMatmul(TPSP_RT_F16, 1, 3, 3, 0, 0);
  Plan plan;
  plan.add(tpsp_rt_matmul, c.encode(), {0, 64, 128});
  auto world = makeWorld(config({}, 256));
  ASSERT_NE(world, nullptr);
  auto a = toBytes(TPSP_RT_F16, {60000, 60000, 1});
  auto b = toBytes(TPSP_RT_F16, {3, 1, -1, -3, 1, -1, 7, 0, 0});
  std::vector<std::byte> after;
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = rank.write(0, a.data(), 6); !s.ok())
      return s;
    if (Status s = rank.write(64, b.data(), 18); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, 256, after);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fromBytes(TPSP_RT_F16, after.data() + 128, 3),
            (std::vector<double>{7, infinity, -infinity}));
}

/// Several tiles of a product whose operands are converted.
TEST_P(MatmulTest, LongHalves) {
  for (const HalfFloat &half : halfFloats)
    for (int layout = 0; layout < 4; ++layout) {
      SCOPED_TRACE(testing::Message() << half.formatName << " layout " << layout
                                      << " seed " << testSeed());
      check(makeMatmul(half.dtype, 521, 3, 1031, layout, 1),
            half.epsilon + 1e-5);
      check(makeMatmul(half.dtype, 5, 1031, 17, layout, 1),
            half.epsilon + 3e-6);
      MatmulCommand c = makeMatmul(half.dtype, 517, 2, 515, layout, 0);
      c.accumulate = Loops{{2, 517 * 515, 2 * 515, 0}};
      c.batch = Loops{{2, 0, 4 * 515, 517 * 2}};
      check(c, half.epsilon + 1e-5);
    }
}

TEST_P(MatmulTest, ManySmallAndFewLargeItems) {
  for (TypeCase type : productTypes) {
    MatmulCommand c = makeMatmul(type.dtype, 64, 48, 32, 2, 0);
    c.batch = Loops{{32, 64 * 32, 48 * 32, 64 * 48}};
    check(c, type.tolerance);
  }
  // The worst of 120,000 sums of 200 products is off by several deviations.
  check(makeMatmul(TPSP_RT_F32, 300, 400, 200, 0, 0), 2e-5);
  check(makeMatmul(TPSP_RT_BF16, 300, 400, 200, 1, 0), 1.0 / 256);
  check(makeMatmul(TPSP_RT_F16, 300, 400, 200, 1, 0), 1.0 / 2048 + 2e-5);
}

/// More points than a GPU's grid has blocks along a batch, alone and with other
/// loops. Their number is prime, so that they cannot be cut equally.
TEST_P(MatmulTest, LongBatches) {
  for (TypeCase type : productTypes) {
    SCOPED_TRACE(testing::Message() << elementName(type.dtype));
    MatmulCommand c = makeMatmul(type.dtype, 1, 2, 1, 0, 0);
    c.batch = Loops{{65537, 1, 2, 3}};
    check(c, type.tolerance);
    c.batch = Loops{{2, 65537, 0, 65537 * 3}, {65537, 1, 2, 3}};
    c.accumulate = Loops{{2, 3, 5, 0}};
    check(c, type.tolerance);
  }
}

TEST_P(MatmulTest, EmptySumIsZero) {
  for (TypeCase type : productTypes) {
    MatmulCommand c = makeMatmul(type.dtype, 3, 4, 0, 0, 0);
    c.ldc = 6;
    Plan plan;
    plan.add(tpsp_rt_matmul, c.encode(), {0, 0, 0});
    auto world = makeWorld(config({}, 256));
    ASSERT_NE(world, nullptr);
    std::vector<std::byte> after;
    Status status = world->run([&](Rank &rank) -> Status {
      if (Status s = poison(rank, 256); !s.ok())
        return s;
      if (Status s = plan.step(rank); !s.ok())
        return s;
      return snapshot(rank, 256, after);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    auto got = fromBytes(type.dtype, after.data(), 16);
    for (int i = 0; i < 16; ++i) {
      bool written = i % 6 < 4;
      EXPECT_EQ(std::isnan(got[i]), !written) << i;
      EXPECT_TRUE(!written || got[i] == 0) << i;
    }
  }
}

TEST_P(MatmulTest, IntegersAreUnsupported) {
  Plan plan;
  plan.add(tpsp_rt_matmul, makeMatmul(TPSP_RT_I32, 2, 2, 2, 0, 0).encode(),
           {0, 64, 128});
  auto world = makeWorld(config({}, 256));
  ASSERT_NE(world, nullptr);
  Status status = world->run([&](Rank &rank) { return plan.step(rank); });
  EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Backends, MatmulTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
