/// Products that are added to what C holds, against plain loops in double.
#include "ConformanceWorld.h"
#include "MatmulLoops.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

MatmulCommand makeAddition(int64_t dtype, int64_t m, int64_t n, int64_t k,
                           int layout, int64_t padding) {
  MatmulCommand c;
  c.dtype = dtype;
  layOut(c, m, n, k, layout, padding);
  c.epilogue = {EpilogueStep::Add};
  return c;
}

class AdditionTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "matmul"; }

  /// Runs the command a few times on random factors and a random C, and
  /// compares all of C, gaps included.
  void check(const MatmulCommand &m) {
    SCOPED_TRACE(testing::Message()
                 << elementName(m.dtype) << " " << m.m << "x" << m.n << "x"
                 << m.k << " ldc " << m.ldc << " seed " << testSeed());
    place(m);
    Plan plan;
    plan.add(tpsp_rt_matmul, m.encode(),
             {starts[0], starts[1], starts[2], starts[2]});
    auto world = makeWorld(config({}, arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      for (int i : {0, 1, 2})
        values[i] = randomValues(types[i], counts[i], random);
      std::vector<std::byte> after;
      Status status =
          world->run([&](Rank &rank) { return runStep(plan, rank, after); });
      ASSERT_TRUE(status.ok()) << status.message();
      addProduct(m);
      compare(m, fromBytes(types[2], after.data() + starts[2], counts[2]));
    }
  }

private:
  /// Lays out A, B and C in the arena.
  void place(const MatmulCommand &m) {
    types[0] = types[1] = m.dtype;
    types[2] = m.resultType();
    counts[0] = spanOf(m, m.transposeA ? m.k : m.m, m.transposeA ? m.m : m.k,
                       m.lda, &MatmulLoop::strideA);
    counts[1] = spanOf(m, m.transposeB ? m.n : m.k, m.transposeB ? m.k : m.n,
                       m.ldb, &MatmulLoop::strideB);
    counts[2] = spanOf(m, m.m, m.n, m.ldc, &MatmulLoop::strideC);
    arena = 0;
    for (int i : {0, 1, 2}) {
      starts[i] = arena;
      arena += (counts[i] * elementBytes(types[i]) + 127) / 64 * 64;
    }
  }

  Status runStep(const Plan &plan, Rank &rank, std::vector<std::byte> &after) {
    if (Status s = poison(rank, arena); !s.ok())
      return s;
    for (int i : {0, 1, 2}) {
      auto bytes = toBytes(types[i], values[i]);
      if (Status s = rank.write(starts[i], bytes.data(), bytes.size()); !s.ok())
        return s;
    }
    if (Status s = plan.stepOrReplay(rank); !s.ok())
      return s;
    return snapshot(rank, arena, after);
  }

  void addProduct(const MatmulCommand &m) {
    auto a = [&](int64_t at, int64_t i, int64_t k) {
      return values[0][at + (m.transposeA ? k * m.lda + i : i * m.lda + k)];
    };
    auto b = [&](int64_t at, int64_t k, int64_t j) {
      return values[1][at + (m.transposeB ? j * m.ldb + k : k * m.ldb + j)];
    };
    forEachPoint(m.batch, [&](int64_t pa, int64_t pb, int64_t pc) {
      forEachPoint(m.accumulate, [&](int64_t sa, int64_t sb, int64_t) {
        for (int64_t i = 0; i < m.m; ++i)
          for (int64_t j = 0; j < m.n; ++j)
            for (int64_t k = 0; k < m.k; ++k)
              values[2][pc + i * m.ldc + j] +=
                  a(pa + sa, i, k) * b(pb + sb, k, j);
      });
    });
  }

  /// No result is rounded to 16 bits.
  void compare(const MatmulCommand &m, const std::vector<double> &got) {
    double tolerance = types[2] == TPSP_RT_F64 ? 1e-11 : 2e-5;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], values[2][i],
                  tolerance * (1 + std::fabs(values[2][i])))
          << "element " << i << " of " << m.ldc << " in a row";
  }

  int64_t types[3] = {}, counts[3] = {}, starts[3] = {}, arena = 0;
  std::vector<double> values[3];
};

constexpr int64_t allTypes[] = {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F64,
                                TPSP_RT_F16};

TEST_P(AdditionTest, OddExtentsAndLayouts) {
  const int64_t extents[][3] = {
      {1, 1, 1},    {1, 16, 5}, {17, 1, 5},   {5, 17, 1},     {7, 13, 11},
      {64, 32, 48}, {3, 8, 0},  {33, 128, 9}, {523, 1032, 3}, {40, 5, 700}};
  for (int64_t dtype : allTypes)
    for (const auto &e : extents)
      for (int layout = 0; layout < 4; ++layout)
        for (int64_t padding : {0, 3})
          check(makeAddition(dtype, e[0], e[1], e[2], layout, padding));
}

TEST_P(AdditionTest, BatchesAndSteps) {
  for (int64_t dtype : allTypes)
    for (int64_t n : {6, 16}) {
      MatmulCommand c = makeAddition(dtype, 5, n, 7, 0, 0);
      c.batch = Loops{{3, 35, 0, 5 * n}};
      check(c);
      c.accumulate = Loops{{2, 105, 7 * n, 0}};
      check(c);
      c.batch = Loops{{2, 210, 0, 20 * n}, {3, 35, 7 * n, 5 * n + 8}};
      check(c);
      // The batch's matrices are interleaved by rows.
      c.ldc = 3 * n;
      c.batch = Loops{{3, 35, 0, n}};
      check(c);
    }
}

/// A library call has at most 65535 points. No point is added twice.
TEST_P(AdditionTest, LongBatches) {
  for (int64_t extent : {65534, 131074}) {
    MatmulCommand c = makeAddition(TPSP_RT_BF16, 1, 8, 2, 0, 0);
    c.batch = Loops{{extent, 2, 0, 8}};
    check(c);
  }
}

/// The sum must be C itself, apart from A and B.
TEST_P(AdditionTest, OtherBuffersAreRefused) {
  MatmulCommand c = makeAddition(TPSP_RT_BF16, 4, 8, 4, 0, 0);
  struct {
    int64_t sum, target;
  } cases[] = {{320, 320}, {448, 320}, {0, 0}, {64, 64}};
  for (auto [sum, target] : cases) {
    Plan plan;
    plan.add(tpsp_rt_matmul, c.encode(), {0, 64, target, sum});
    auto world = makeWorld(config({}, 1024));
    ASSERT_NE(world, nullptr);
    Status status = world->run([&](Rank &rank) { return plan.step(rank); });
    bool isRight = sum == 320;
    EXPECT_EQ(status.code(), isRight ? TPSP_RT_OK : TPSP_RT_INVALID)
        << sum << ", " << target << ": " << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, AdditionTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
