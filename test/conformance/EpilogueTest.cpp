/// Matmuls with each epilogue against plain loops in double.
#include "ConformanceWorld.h"
#include "MatmulLoops.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

using Step = EpilogueStep;
using Steps = std::vector<EpilogueStep>;

const std::vector<Steps> &resultEpilogues() {
  static const std::vector<Steps> all = {{Step::Bias},
                                         {Step::Gelu},
                                         {Step::Bias, Step::Gelu},
                                         {Step::Keep, Step::Gelu},
                                         {Step::Bias, Step::Keep, Step::Gelu},
                                         {Step::Slope}};
  return all;
}

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// Computes the slope by differences, so as not to repeat a wrong formula here.
double geluSlope(double x) {
  constexpr double h = 1e-4;
  return (8 * (gelu(x + h) - gelu(x - h)) -
          (gelu(x + 2 * h) - gelu(x - 2 * h))) /
         (12 * h);
}

/// A buffer of the command in the arena. Its values are NaN where nothing is
/// expected.
struct Buffer {
  int64_t offset = 0, count = 0;
  bool isInput = false;
  std::vector<double> values;
};

/// The command with its buffers: A, B, C, then those of the epilogue.
struct Case {
  MatmulCommand m;
  std::vector<Buffer> buffers;
  int64_t arena = 0;

  /// The epilogue's buffers begin `skew` elements after a multiple of 64 bytes.
  Case(const MatmulCommand &command, int64_t skew) : m(command) {
    add(spanOf(m, m.transposeA ? m.k : m.m, m.transposeA ? m.m : m.k, m.lda,
               &MatmulLoop::strideA),
        true, 0);
    add(spanOf(m, m.transposeB ? m.n : m.k, m.transposeB ? m.k : m.n, m.ldb,
               &MatmulLoop::strideB),
        true, 0);
    int64_t c = spanOf(m, m.m, m.n, m.ldc, &MatmulLoop::strideC);
    add(c, false, 0);
    for (Step step : m.epilogue)
      if (hasBuffer(step))
        add(hasMatrix(step)      ? c
            : step == Step::SumA ? m.m
                                 : m.n,
            !writesBuffer(step), skew);
  }

  void add(int64_t count, bool isInput, int64_t skew) {
    int64_t width = elementBytes(m.dtype);
    Buffer buffer;
    buffer.offset = arena + skew * width;
    buffer.count = count;
    buffer.isInput = isInput;
    buffer.values.assign(count, std::nan(""));
    buffers.push_back(buffer);
    arena = (buffer.offset + count * width + 127) / 64 * 64;
  }

  std::vector<int64_t> offsets() const {
    std::vector<int64_t> result;
    for (const Buffer &buffer : buffers)
      result.push_back(buffer.offset);
    return result;
  }

  double a(int64_t at, int64_t i, int64_t k) const {
    return buffers[0]
        .values[at + (m.transposeA ? k * m.lda + i : i * m.lda + k)];
  }
  double b(int64_t at, int64_t k, int64_t j) const {
    return buffers[1]
        .values[at + (m.transposeB ? j * m.ldb + k : k * m.ldb + j)];
  }

  /// Computes the expected values of the buffers that the command writes.
  void compute() {
    for (Buffer &buffer : buffers)
      if (!buffer.isInput)
        buffer.values.assign(buffer.count, std::nan(""));
    forEachPoint(m.batch, [&](int64_t pa, int64_t pb, int64_t pc) {
      for (int64_t i = 0; i < m.m; ++i)
        for (int64_t j = 0; j < m.n; ++j) {
          double sum = 0;
          forEachPoint(m.accumulate, [&](int64_t sa, int64_t sb, int64_t) {
            for (int64_t k = 0; k < m.k; ++k)
              sum += a(pa + sa, i, k) * b(pb + sb, k, j);
          });
          finish(sum, j, pc + i * m.ldc + j);
        }
    });
    sumOperands();
  }

  void finish(double x, int64_t j, int64_t place) {
    size_t next = 3;
    for (Step step : m.epilogue) {
      std::vector<double> *buffer =
          hasBuffer(step) ? &buffers[next++].values : nullptr;
      if (step == Step::Bias)
        x += (*buffer)[j];
      else if (step == Step::Keep)
        (*buffer)[place] = x;
      else if (step == Step::Gelu)
        x = gelu(x);
      else if (step == Step::Slope)
        x *= geluSlope((*buffer)[place]);
    }
    buffers[2].values[place] = x;
  }

  void sumOperands() {
    if (m.epilogue == Steps{Step::SumA})
      for (int64_t i = 0; i < m.m; ++i) {
        buffers[3].values[i] = 0;
        for (int64_t k = 0; k < m.k; ++k)
          buffers[3].values[i] += a(0, i, k);
      }
    if (m.epilogue == Steps{Step::SumB})
      for (int64_t j = 0; j < m.n; ++j) {
        buffers[3].values[j] = 0;
        for (int64_t k = 0; k < m.k; ++k)
          buffers[3].values[j] += b(0, k, j);
      }
  }
};

MatmulCommand makeMatmul(int64_t dtype, int64_t m, int64_t n, int64_t k,
                         int layout, int64_t padding, Steps epilogue) {
  MatmulCommand c;
  c.dtype = dtype;
  layOut(c, m, n, k, layout, padding);
  c.epilogue = std::move(epilogue);
  return c;
}

std::string text(const MatmulCommand &m) {
  std::string result = std::string(elementName(m.dtype)) + " " +
                       std::to_string(m.m) + "x" + std::to_string(m.n) + "x" +
                       std::to_string(m.k) + " ldc " + std::to_string(m.ldc);
  for (Step step : m.epilogue)
    result += std::string(" ") + nameOf(step);
  return result;
}

class EpilogueTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "matmul"; }

  /// Runs the command a few times on poisoned arenas and compares all of the
  /// buffers that it writes, gaps included.
  void check(const MatmulCommand &m, int64_t skew = 0) {
    SCOPED_TRACE(testing::Message() << text(m) << " seed " << testSeed());
    Case c(m, skew);
    Plan plan;
    plan.add(tpsp_rt_matmul, m.encode(), c.offsets());
    auto world = makeWorld(config({}, c.arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      for (Buffer &buffer : c.buffers)
        if (buffer.isInput)
          buffer.values = randomValues(m.dtype, buffer.count, random);
      c.compute();
      std::vector<std::byte> after;
      Status status =
          world->run([&](Rank &rank) { return runStep(c, plan, rank, after); });
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t i = 2; i < c.buffers.size(); ++i)
        if (!c.buffers[i].isInput)
          compare(c, i, after);
    }
  }

private:
  static Status runStep(const Case &c, const Plan &plan, Rank &rank,
                        std::vector<std::byte> &after) {
    if (Status s = poison(rank, c.arena); !s.ok())
      return s;
    for (const Buffer &buffer : c.buffers) {
      auto bytes = toBytes(c.m.dtype, buffer.values);
      if (buffer.isInput)
        if (Status s = rank.write(buffer.offset, bytes.data(), bytes.size());
            !s.ok())
          return s;
    }
    if (Status s = plan.stepOrReplay(rank); !s.ok())
      return s;
    return snapshot(rank, c.arena, after);
  }

  /// Values in 16 bits may be rounded before the epilogue and after it.
  static double toleranceOf(int64_t dtype) {
    return dtype == TPSP_RT_F32 ? 1e-5
           : halfFloat(dtype)   ? 2 * halfFloat(dtype)->epsilon
                                : 1e-11;
  }

  static void compare(const Case &c, size_t number,
                      const std::vector<std::byte> &after) {
    const Buffer &buffer = c.buffers[number];
    auto got = fromBytes(c.m.dtype, after.data() + buffer.offset, buffer.count);
    double tolerance = toleranceOf(c.m.dtype);
    for (size_t i = 0; i < got.size(); ++i) {
      double expected = buffer.values[i];
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got[i]))
            << "buffer " << number << " element " << i << " of a gap";
      else
        ASSERT_NEAR(got[i], expected, tolerance * (1 + std::fabs(expected)))
            << "buffer " << number << " element " << i;
    }
  }
};

constexpr int64_t types[] = {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F64,
                             TPSP_RT_F16};

TEST_P(EpilogueTest, OddExtentsAndLayouts) {
  const int64_t extents[][3] = {{1, 1, 1},   {1, 16, 5},  {17, 1, 5},
                                {5, 17, 1},  {7, 13, 11}, {64, 32, 48},
                                {33, 128, 9}};
  for (int64_t dtype : types)
    for (const auto &e : extents)
      for (const Steps &steps : resultEpilogues())
        for (int64_t padding : {0, 3, 8})
          check(makeMatmul(dtype, e[0], e[1], e[2], int(padding) % 4, padding,
                           steps));
}

/// Sums of either operand, transposed or not.
TEST_P(EpilogueTest, SumsOfOperands) {
  const int64_t extents[][3] = {{1, 1, 1},    {1, 17, 5},   {17, 1, 5},
                                {5, 17, 1},   {40, 24, 31}, {3, 1100, 7},
                                {1100, 3, 7}, {3, 1, 259}};
  for (int64_t dtype : types)
    for (const auto &e : extents)
      for (int layout = 0; layout < 4; ++layout)
        for (int64_t padding : {0, 3})
          for (Step step : {Step::SumA, Step::SumB})
            check(makeMatmul(dtype, e[0], e[1], e[2], layout, padding, {step}));
}

/// Buffers without the alignment that libraries want.
TEST_P(EpilogueTest, BuffersAtAnyElement) {
  for (int64_t dtype : types)
    for (const Steps &steps : resultEpilogues())
      for (int64_t skew : {1, 4, 8})
        check(makeMatmul(dtype, 24, 40, 16, 2, 0, steps), skew);
}

/// All points of a batch share a vector; matrices have a part for each, as C
/// has.
TEST_P(EpilogueTest, Batches) {
  for (int64_t dtype : types)
    for (const Steps &steps : resultEpilogues())
      for (int64_t n : {6, 16}) {
        MatmulCommand c = makeMatmul(dtype, 5, n, 7, 0, 0, steps);
        c.batch = Loops{{3, 35, 0, 5 * n}};
        check(c);
        c.batch = Loops{{2, 200, 0, 20 * n}, {3, 35, 7 * n, 5 * n + 8}};
        check(c);
        // The batch's matrices are interleaved by rows.
        c.ldc = 3 * n;
        c.batch = Loops{{3, 35, 0, n}};
        check(c);
      }
}

TEST_P(EpilogueTest, LongBatches) {
  for (const Steps &steps :
       {Steps{Step::Keep, Step::Gelu}, Steps{Step::Slope}, Steps{Step::Bias}}) {
    MatmulCommand c = makeMatmul(TPSP_RT_BF16, 1, 8, 2, 0, 0, steps);
    c.batch = Loops{{65539, 2, 0, 8}};
    check(c);
  }
}

/// The epilogue is applied only when the sum is complete.
TEST_P(EpilogueTest, SumsOfSeveralSteps) {
  for (int64_t dtype : types)
    for (const Steps &steps : resultEpilogues()) {
      MatmulCommand c = makeMatmul(dtype, 5, 8, 7, 1, 0, steps);
      c.accumulate = Loops{{2, 200, 300, 0}, {3, 64, 80, 0}};
      check(c);
      c.batch = Loops{{4, 11, 0, 5 * 8}};
      check(c);
    }
}

/// Many rows, for which the epilogue is done block by block.
TEST_P(EpilogueTest, ManyRows) {
  for (const Steps &steps :
       {Steps{Step::Bias, Step::Keep, Step::Gelu}, Steps{Step::Slope}})
    for (int layout : {0, 3}) {
      check(makeMatmul(TPSP_RT_F32, 523, 1032, 3, layout, 0, steps));
      check(makeMatmul(TPSP_RT_BF16, 1039, 1032, 2, layout, 0, steps));
    }
}

/// An empty sum gives the epilogue of zeros.
TEST_P(EpilogueTest, EmptySum) {
  for (int64_t dtype : types) {
    for (const Steps &steps : resultEpilogues())
      check(makeMatmul(dtype, 3, 8, 0, 0, 0, steps));
    for (Step step : {Step::SumA, Step::SumB})
      check(makeMatmul(dtype, 3, 8, 0, 0, 0, {step}));
  }
}

/// GELU of large arguments, for which exp over- or underflows, is x or 0.
TEST_P(EpilogueTest, FarFromZero) {
  for (int64_t dtype : types) {
    MatmulCommand c = makeMatmul(dtype, 6, 8, 40, 0, 0, {Step::Gelu});
    Case data(c, 0);
    for (size_t i = 0; i < data.buffers[0].values.size(); ++i)
      data.buffers[0].values[i] = i / 40 % 2 ? 32 : -32;
    data.buffers[1].values.assign(data.buffers[1].count, 1);
    Plan plan;
    plan.add(tpsp_rt_matmul, c.encode(), data.offsets());
    auto world = makeWorld(config({}, data.arena));
    ASSERT_NE(world, nullptr);
    std::vector<std::byte> after;
    Status status = world->run([&](Rank &rank) -> Status {
      for (int i : {0, 1}) {
        auto bytes = toBytes(dtype, data.buffers[i].values);
        if (Status s =
                rank.write(data.buffers[i].offset, bytes.data(), bytes.size());
            !s.ok())
          return s;
      }
      if (Status s = plan.step(rank); !s.ok())
        return s;
      return snapshot(rank, data.arena, after);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    auto got = fromBytes(dtype, after.data() + data.buffers[2].offset, 48);
    for (int i = 0; i < 48; ++i)
      EXPECT_NEAR(got[i], i / 8 % 2 ? 1280 : 0, 1e-20) << i;
  }
}

/// An epilogue's result must not overlap a buffer of the product.
TEST_P(EpilogueTest, OverlapIsRefused) {
  MatmulCommand c =
      makeMatmul(TPSP_RT_F32, 4, 8, 4, 0, 0, {Step::Keep, Step::Gelu});
  for (int64_t keep : {0, 128, 320, 448}) {
    Plan plan;
    plan.add(tpsp_rt_matmul, c.encode(), {0, 64, 320, keep});
    auto world = makeWorld(config({}, 1024));
    ASSERT_NE(world, nullptr);
    Status status = world->run([&](Rank &rank) { return plan.step(rank); });
    EXPECT_EQ(status.code(), keep == 448 ? TPSP_RT_OK : TPSP_RT_INVALID)
        << keep << ": " << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EpilogueTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
