/// Attention and its gradients against plain loops in double.
#include "ConformanceWorld.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>
#include <map>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

using Values = std::vector<double>;

/// Where elements are, outermost index first: "bshg", the feature behind.
AttentionLayout layoutOf(const std::string &order, const AttentionCommand &c,
                         int64_t rows, int64_t features) {
  AttentionLayout at;
  std::map<char, std::pair<int64_t, int64_t *>> indices = {
      {'b', {c.batch, &at.batch}},
      {'h', {c.heads, &at.head}},
      {'g', {c.groups, &at.group}},
      {'s', {rows, &at.row}}};
  int64_t inner = features;
  for (auto name = order.rbegin(); name != order.rend(); ++name) {
    auto [extent, stride] = indices.at(*name);
    *stride = inner;
    inner *= extent;
  }
  return at;
}

struct Shape {
  int64_t batch, heads, groups, queries, keys, features, valueFeatures;
};

/// `order` is of queries and results, `keyOrder` of keys and values.
AttentionCommand makeAttention(int64_t dtype, const Shape &s,
                               const std::string &order,
                               const std::string &keyOrder, bool causal) {
  AttentionCommand c;
  c.dtype = dtype;
  c.batch = s.batch, c.heads = s.heads, c.groups = s.groups;
  c.queries = s.queries, c.keys = s.keys;
  c.features = s.features, c.valueFeatures = s.valueFeatures;
  c.scale = 1 / std::sqrt(double(s.features));
  c.causal = causal;
  c.keepsStatistic = true;
  c.q = layoutOf(order, c, c.queries, c.features);
  c.o = layoutOf(order, c, c.queries, c.valueFeatures);
  c.k = layoutOf(keyOrder, c, c.keys, c.features);
  c.v = layoutOf(keyOrder, c, c.keys, c.valueFeatures);
  return c;
}

/// Operands and results, in the command's layouts.
struct Tensors {
  Values q, k, v, o, statistic, go, gq, gk, gv;
};

/// One head of queries, by plain loops.
class HeadLoops {
public:
  HeadLoops(const AttentionCommand &c, int64_t b, int64_t h, int64_t g)
      : c(c), b(b), h(h), g(g) {}

  void forward(Tensors &t) const {
    for (int64_t s = 0; s < c.queries; ++s) {
      Values weights = weightsOf(t, s);
      for (int64_t e = 0; e < c.valueFeatures; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < c.keys; ++j)
          sum += weights[j] * t.v[key(c.v, j) + e];
        t.o[query(c.o, s) + e] = sum;
      }
    }
  }

  /// Adds to gk and gv, and sets gq.
  void backward(Tensors &t) const {
    for (int64_t s = 0; s < c.queries; ++s) {
      Values weights = weightsOf(t, s), slopes(c.keys, 0);
      double mean = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        for (int64_t e = 0; e < c.valueFeatures; ++e) {
          double g = t.go[query(c.o, s) + e];
          slopes[j] += g * t.v[key(c.v, j) + e];
          t.gv[key(c.v, j) + e] += weights[j] * g;
        }
        mean += weights[j] * slopes[j];
      }
      for (int64_t j = 0; j < c.keys; ++j) {
        double slope = c.scale * weights[j] * (slopes[j] - mean);
        for (int64_t d = 0; d < c.features; ++d) {
          t.gq[query(c.q, s) + d] += slope * t.k[key(c.k, j) + d];
          t.gk[key(c.k, j) + d] += slope * t.q[query(c.q, s) + d];
        }
      }
    }
  }

private:
  int64_t query(const AttentionLayout &at, int64_t row) const {
    return b * at.batch + h * at.head + g * at.group + row * at.row;
  }
  int64_t key(const AttentionLayout &at, int64_t row) const {
    return b * at.batch + h * at.head + row * at.row;
  }

  /// And the row's statistic.
  Values weightsOf(Tensors &t, int64_t s) const {
    Values weights(c.keys, 0);
    int64_t seen = c.causal ? std::min(s + 1, c.keys) : c.keys;
    double largest = -HUGE_VAL, total = 0;
    for (int64_t j = 0; j < seen; ++j) {
      for (int64_t d = 0; d < c.features; ++d)
        weights[j] += t.q[query(c.q, s) + d] * t.k[key(c.k, j) + d];
      weights[j] *= c.scale;
      largest = std::max(largest, weights[j]);
    }
    for (int64_t j = 0; j < seen; ++j)
      total += weights[j] = std::exp(weights[j] - largest);
    for (int64_t j = 0; j < seen; ++j)
      weights[j] /= total;
    int64_t row = ((b * c.heads + h) * c.groups + g) * c.queries + s;
    t.statistic[row] = largest + std::log(total);
    return weights;
  }

  const AttentionCommand &c;
  int64_t b, h, g;
};

template <typename Body>
void forEachHead(const AttentionCommand &c, const Body &body) {
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t g = 0; g < c.groups; ++g)
        body(HeadLoops(c, b, h, g));
}

class AttentionTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "attention"; }

  /// Forward and backward in one step on a poisoned arena, a few times.
  void check(const AttentionCommand &c, double tolerance) {
    place(c);
    AttentionCommand forward = c;
    Plan plan;
    plan.add(tpsp_rt_attention, forward.encode(),
             {at[0], at[1], at[2], at[3], at[4]});
    plan.add(tpsp_rt_attention_gradient, c.encode(), at);
    auto world = makeWorld(config({}, arena));
    ASSERT_NE(world, nullptr);
    for (int step = 0; step < stepsToTry(); ++step) {
      Tensors expected = makeTensors(c);
      std::vector<std::byte> after;
      Status status = world->run(
          [&](Rank &rank) { return runStep(c, rank, plan, expected, after); });
      ASSERT_TRUE(status.ok()) << status.message();
      compareAll(c, expected, after, tolerance);
    }
  }

  /// What a lone forward command says, on operands of zeros.
  Status tryForward(const AttentionCommand &c) {
    place(c);
    Plan plan;
    plan.add(tpsp_rt_attention, c.encode(),
             {at[0], at[1], at[2], at[3], at[4]});
    auto world = makeWorld(config({}, arena));
    if (!world)
      return {};
    std::vector<std::byte> zeros(arena);
    return world->run([&](Rank &rank) -> Status {
      if (Status s = rank.write(0, zeros.data(), arena); !s.ok())
        return s;
      return plan.stepOrReplay(rank);
    });
  }

  bool isCuda() const { return GetParam().backend == "cuda"; }
  /// Whether its headers were there.
  static bool hasCudnn() {
#ifdef TPSP_WITH_CUDNN
    return true;
#else
    return false;
#endif
  }

private:
  /// Buffers one behind the other, with gaps.
  void place(const AttentionCommand &c) {
    int64_t width = elementBytes(c.dtype);
    const int64_t bytes[] = {c.queryElements() * width,
                             c.keyElements() * width,
                             c.valueElements() * width,
                             c.resultElements() * width,
                             c.numRows() * elementBytes(c.statisticType()),
                             c.resultElements() * width,
                             c.queryElements() * width,
                             c.keyElements() * width,
                             c.valueElements() * width};
    at.clear();
    arena = 0;
    for (int64_t size : bytes) {
      at.push_back(arena);
      arena += (size + 127) / 64 * 64;
    }
  }

  Tensors makeTensors(const AttentionCommand &c) {
    Tensors t;
    t.q = randomValues(c.dtype, c.queryElements(), random);
    t.k = randomValues(c.dtype, c.keyElements(), random);
    t.v = randomValues(c.dtype, c.valueElements(), random);
    t.go = randomValues(c.dtype, c.resultElements(), random);
    for (double &value : t.q)
      value *= queryFactor;
    t.o.resize(t.go.size());
    t.statistic.resize(c.numRows());
    t.gq.assign(t.q.size(), 0);
    t.gk.assign(t.k.size(), 0);
    t.gv.assign(t.v.size(), 0);
    forEachHead(c, [&](const HeadLoops &head) { head.forward(t); });
    forEachHead(c, [&](const HeadLoops &head) { head.backward(t); });
    return t;
  }

  Status runStep(const AttentionCommand &c, Rank &rank, const Plan &plan,
                 const Tensors &t, std::vector<std::byte> &after) {
    if (Status s = poison(rank, arena); !s.ok())
      return s;
    const std::pair<size_t, const Values *> inputs[] = {
        {0, &t.q}, {1, &t.k}, {2, &t.v}, {5, &t.go}};
    for (auto [buffer, values] : inputs) {
      std::vector<std::byte> bytes = toBytes(c.dtype, *values);
      if (Status s = rank.write(at[buffer], bytes.data(), bytes.size());
          !s.ok())
        return s;
    }
    if (Status s = plan.stepOrReplay(rank); !s.ok())
      return s;
    return snapshot(rank, arena, after);
  }

  void compareAll(const AttentionCommand &c, const Tensors &t,
                  const std::vector<std::byte> &after, double tolerance) {
    auto compare = [&](const char *name, size_t buffer, int64_t dtype,
                       const Values &expected) {
      SCOPED_TRACE(name);
      Values got =
          fromBytes(dtype, after.data() + at[buffer], int64_t(expected.size()));
      // Of what is usual in the tensor, and of the operands, which are about 1:
      // an element may be a difference of large ones.
      double square = 0;
      for (double x : expected)
        square += x * x;
      double usual = std::sqrt(square / std::max<size_t>(expected.size(), 1));
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i],
                    tolerance * (0.25 + usual + std::fabs(expected[i])))
            << "element " << i;
    };
    compare("o", 3, c.dtype, t.o);
    compare("statistic", 4, c.statisticType(), t.statistic);
    compare("gradient of v", 8, c.dtype, t.gv);
    compare("gradient of q", 6, c.dtype, t.gq);
    compare("gradient of k", 7, c.dtype, t.gk);
  }

  std::vector<int64_t> at;
  int64_t arena = 0;

protected:
  /// A power of two.
  double queryFactor = 4;
};

struct TypeCase {
  int64_t dtype;
  double tolerance;
};

/// In 16 bits weights may be rounded, too, before they meet the values.
constexpr TypeCase types[] = {{TPSP_RT_F32, 3e-5},
                              {TPSP_RT_BF16, 1.0 / 32},
                              {TPSP_RT_F16, 1.0 / 256},
                              {TPSP_RT_F64, 1e-12}};

TEST_P(AttentionTest, ShapesLayoutsAndMasks) {
  if (isCuda() && !hasCudnn())
    GTEST_SKIP() << "the CUDA backend was built without cuDNN";
  const Shape shapes[] = {// batch, heads, groups, s, t, d, e
                          {1, 1, 1, 1, 1, 8, 8},     {2, 3, 1, 37, 37, 16, 16},
                          {1, 2, 4, 64, 64, 64, 64}, {3, 1, 5, 17, 17, 8, 8},
                          {1, 2, 1, 5, 130, 32, 32}, {1, 1, 2, 130, 5, 32, 32},
                          {1, 1, 1, 259, 600, 8, 24}};
  const std::pair<const char *, const char *> orders[] = {{"bhgs", "bhs"},
                                                          {"bshg", "bsh"}};
  for (TypeCase type : types) {
    if (isCuda() && elementBytes(type.dtype) != 2)
      continue;
    for (const Shape &shape : shapes) {
      // cuDNN has no gradients of one query and one key.
      if (isCuda() && shape.queries * shape.keys == 1)
        continue;
      for (auto [order, keyOrder] : orders)
        for (bool causal : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " s " << shape.queries
                       << " t " << shape.keys << " groups " << shape.groups
                       << " " << order << (causal ? " causal" : "") << " seed "
                       << testSeed());
          check(makeAttention(type.dtype, shape, order, keyOrder, causal),
                type.tolerance);
        }
    }
  }
}

/// Odd features, and indices in an order that no library has.
TEST_P(AttentionTest, AnythingDenseOnCpus) {
  if (isCuda())
    GTEST_SKIP() << "cuDNN has neither";
  for (TypeCase type : types)
    for (bool causal : {false, true}) {
      check(makeAttention(type.dtype, {2, 3, 2, 11, 13, 7, 5}, "gshb", "shb",
                          causal),
            type.tolerance);
      check(makeAttention(type.dtype, {2, 3, 2, 11, 1, 1, 1}, "shgb", "hsb",
                          causal),
            type.tolerance);
    }
}

/// exp of them is infinite in f32.
TEST_P(AttentionTest, LargeScores) {
  if (isCuda())
    GTEST_SKIP() << "16 bits say nothing of a difference of such scores";
  queryFactor = 1024;
  for (TypeCase type : types)
    if (elementBytes(type.dtype) != 2)
      check(makeAttention(type.dtype, {1, 2, 2, 19, 23, 8, 8}, "bhgs", "bhs",
                          true),
            20 * type.tolerance);
}

TEST_P(AttentionTest, WhatCudnnHasNotIsRefused) {
  if (!isCuda())
    GTEST_SKIP() << "of cuDNN";
  for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_F64}) {
    Status status = tryForward(
        makeAttention(dtype, {1, 2, 1, 16, 16, 16, 16}, "bhgs", "bhs", true));
    EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED) << status.message();
    EXPECT_NE(status.message().find("--attention rows"), std::string::npos)
        << status.message();
  }
}

TEST_P(AttentionTest, OverlappingBuffersAreRefused) {
  AttentionCommand c = makeAttention(TPSP_RT_BF16, {1, 1, 1, 16, 16, 16, 16},
                                     "bhgs", "bhs", false);
  Plan plan;
  plan.add(tpsp_rt_attention, c.encode(), {0, 512, 1024, 1000, 2048});
  auto world = makeWorld(config({}, 1 << 16));
  ASSERT_NE(world, nullptr);
  Status status =
      world->run([&](Rank &rank) { return plan.stepOrReplay(rank); });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_NE(status.message().find("overlaps"), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(Backends, AttentionTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
