/// Attention and its gradients against plain loops in double.
#include "AttentionLoops.h"
#include "ConformanceWorld.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <tuple>

/// Ends a test of the CUDA backend if that was built without cuDNN.
#define TPSP_SKIP_WITHOUT_CUDNN()                                              \
  if (isCuda() && !hasCudnn())                                                 \
  GTEST_SKIP() << "the CUDA backend was built without cuDNN"

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

class AttentionTest : public ConformanceTest {
protected:
  const char *testedCall() const override { return "attention"; }

  /// Forward and backward in one step on a poisoned arena, a few times.
  void check(const AttentionCommand &c, double tolerance) {
    place(c);
    AttentionCommand forward = c;
    Plan plan;
    std::vector<int64_t> ofForward(at.begin(), at.begin() + 5),
        extras(at.begin() + 9, at.begin() + 9 + numExtras(c));
    ofForward.insert(ofForward.end(), extras.begin(), extras.end());
    plan.add(tpsp_rt_attention, forward.encode(), ofForward);
    AttentionGradientCommand backward;
    static_cast<AttentionCommand &>(backward) = c;
    backward.wantsBiasGradient = c.hasBias;
    plan.add(tpsp_rt_attention_gradient, backward.encode(), at);
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

  /// Returns the status of a single forward command on operands of zeros.
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
  /// Whether the CUDA backend was built with cuDNN.
  static bool hasCudnn() {
#ifdef TPSP_WITH_CUDNN
    return true;
#else
    return false;
#endif
  }

private:
  static size_t numExtras(const AttentionCommand &c) {
    return (c.hasBias ? 1 : 0) + (c.hasSegments ? 2 : 0) +
           (c.hasLengths ? 1 : 0);
  }
  /// Elements from a layout's first to its last.
  static int64_t span(const AttentionCommand &c, const AttentionLayout &l,
                      int64_t rows, int64_t keyStride = 0) {
    return 1 + (c.batch - 1) * l.batch + (c.heads - 1) * l.head +
           (c.groups - 1) * l.group + (rows - 1) * l.row +
           (c.keys - 1) * keyStride;
  }

  /// Places the buffers one after another, with gaps.
  void place(const AttentionCommand &c) {
    int64_t width = elementBytes(c.dtype);
    std::vector<int64_t> bytes = {c.queryElements() * width,
                                  c.keyElements() * width,
                                  c.valueElements() * width,
                                  c.resultElements() * width,
                                  c.numRows() * elementBytes(c.statisticType()),
                                  c.resultElements() * width,
                                  c.queryElements() * width,
                                  c.keyElements() * width,
                                  c.valueElements() * width};
    if (c.hasBias)
      bytes.push_back(c.biasElements() * width);
    if (c.hasSegments)
      for (int64_t elements : {span(c, c.querySegments, c.queries),
                               span(c, c.keySegments, c.keys)})
        bytes.push_back(elements * elementBytes(TPSP_RT_I32));
    if (c.hasLengths)
      bytes.push_back(span(c, c.lengths, 1) * elementBytes(TPSP_RT_I32));
    if (c.hasBias)
      bytes.push_back(c.biasElements() * width);
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
    if (c.hasBias)
      t.bias = randomValues(c.dtype, c.biasElements(), random);
    if (lowBias != 0)
      lowerBias(c, lowBias, random, t.bias);
    t.gbias.assign(t.bias.size(), 0);
    if (c.hasSegments) {
      for (auto *numbers : {&t.querySegments, &t.keySegments}) {
        bool isOfQueries = numbers == &t.querySegments;
        numbers->resize(isOfQueries ? span(c, c.querySegments, c.queries)
                                    : span(c, c.keySegments, c.keys));
        for (double &number : *numbers)
          number = double(random() % 3);
      }
    }
    if (c.hasLengths) {
      // No key, one, all, and lengths out of range.
      t.lengths = {0, 1, double(c.keys), -3, double(c.keys + 5)};
      t.lengths.resize(span(c, c.lengths, 1));
      for (size_t i = 5; i < t.lengths.size(); ++i)
        t.lengths[i] = double(random() % (c.keys + 1));
      std::shuffle(t.lengths.begin(), t.lengths.end(), random);
    }
    forEachHead(c, [&](const HeadLoops &head) { head.forward(t); });
    forEachHead(c, [&](const HeadLoops &head) { head.backward(t); });
    return t;
  }

  Status runStep(const AttentionCommand &c, Rank &rank, const Plan &plan,
                 const Tensors &t, std::vector<std::byte> &after) {
    if (Status s = poison(rank, arena); !s.ok())
      return s;
    struct Input {
      size_t buffer;
      const Values *values;
      int64_t dtype;
    };
    std::vector<Input> inputs = {{0, &t.q, c.dtype},
                                 {1, &t.k, c.dtype},
                                 {2, &t.v, c.dtype},
                                 {5, &t.go, c.dtype}};
    size_t next = 9;
    if (c.hasBias)
      inputs.push_back({next++, &t.bias, c.dtype});
    if (c.hasSegments) {
      inputs.push_back({next++, &t.querySegments, TPSP_RT_I32});
      inputs.push_back({next++, &t.keySegments, TPSP_RT_I32});
    }
    if (c.hasLengths)
      inputs.push_back({next++, &t.lengths, TPSP_RT_I32});
    for (auto [buffer, values, dtype] : inputs) {
      std::vector<std::byte> bytes = toBytes(dtype, *values);
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
      // The tolerance is relative to the tensor's usual size and to the
      // operands, which are about 1. An element may be a difference of large
      // ones. Very low statistics are left out of the usual size.
      double square = 0;
      for (double x : expected)
        square += std::fabs(x) < 1e4 ? x * x : 0;
      double usual = std::sqrt(square / std::max<size_t>(expected.size(), 1));
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == expected[i]) // infinities, too
          continue;
        ASSERT_NEAR(got[i], expected[i],
                    tolerance * (0.25 + usual + std::fabs(expected[i])))
            << "element " << i;
      }
    };
    compare("o", 3, c.dtype, t.o);
    compare("statistic", 4, c.statisticType(), t.statistic);
    compare("gradient of v", 8, c.dtype, t.gv);
    compare("gradient of q", 6, c.dtype, t.gq);
    compare("gradient of k", 7, c.dtype, t.gk);
    if (c.hasBias)
      compare("gradient of the bias", at.size() - 1, c.dtype, t.gbias);
  }

  std::vector<int64_t> at;
  int64_t arena = 0;

protected:
  /// A power of two.
  double queryFactor = 4;
  /// If not 0, some elements and rows of the bias are minus infinity or this.
  double lowBias = 0;
};

struct TypeCase {
  int64_t dtype;
  double tolerance;
};

/// In 16 bits the weights may be rounded, too, before they are multiplied by
/// the values.
constexpr TypeCase types[] = {{TPSP_RT_F32, 3e-5},
                              {TPSP_RT_BF16, 1.0 / 32},
                              {TPSP_RT_F16, 1.0 / 256},
                              {TPSP_RT_F64, 1e-12}};

constexpr std::pair<const char *, const char *> orders[] = {{"bhgs", "bhs"},
                                                            {"bshg", "bsh"}};

TEST_P(AttentionTest, ShapesLayoutsAndMasks) {
  TPSP_SKIP_WITHOUT_CUDNN();
  const Shape shapes[] = {// batch, heads, groups, s, t, d, e
                          {1, 1, 1, 1, 1, 8, 8},     {2, 3, 1, 37, 37, 16, 16},
                          {1, 2, 4, 64, 64, 64, 64}, {3, 1, 5, 17, 17, 8, 8},
                          {1, 2, 1, 5, 130, 32, 32}, {1, 1, 2, 130, 5, 32, 32},
                          {1, 1, 1, 259, 600, 8, 24}};
  for (TypeCase type : types) {
    if (isCuda() && elementBytes(type.dtype) != 2)
      continue;
    for (const Shape &shape : shapes) {
      // cuDNN has no gradients of one query and one key.
      if (isCuda() && shape.queries * shape.keys == 1)
        continue;
      for (auto [order, keyOrder] : orders)
        for (bool causal : {false, true}) {
          if (isLeftOut())
            continue;
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

/// As on a rank that has not the first queries but later ones. The last keys
/// are seen by the last rank's queries only. Under a window a rank may have the
/// keys that it reaches. On the first ranks some lie before the sequence.
TEST_P(AttentionTest, QueriesThatStartLater) {
  TPSP_SKIP_WITHOUT_CUDNN();
  const std::tuple<Shape, int64_t, int64_t> cases[] = {
      // batch, heads, groups, s, t, d, e; start, window
      {{2, 3, 1, 7, 21, 16, 16}, 7, 0}, {{2, 3, 1, 7, 21, 16, 16}, 14, 0},
      {{1, 1, 5, 1, 9, 8, 24}, 5, 0},   {{1, 2, 4, 33, 100, 16, 8}, 33, 0},
      {{3, 2, 1, 13, 21, 8, 8}, 4, 0},  {{1, 1, 2, 130, 600, 8, 8}, 390, 0},
      {{2, 3, 1, 7, 9, 16, 16}, 0, 3},  {{1, 2, 4, 33, 100, 16, 8}, 33, 68},
      {{1, 2, 5, 7, 7, 8, 24}, 7, 1},   {{1, 1, 2, 70, 300, 8, 8}, 280, 231}};
  for (TypeCase type : types) {
    if (isCuda() && elementBytes(type.dtype) != 2)
      continue;
    for (auto [shape, start, window] : cases)
      for (auto [order, keyOrder] : orders) {
        SCOPED_TRACE(testing::Message()
                     << elementName(type.dtype) << " t " << shape.keys
                     << " from " << start << " window " << window << " "
                     << order << " seed " << testSeed());
        AttentionCommand c =
            makeAttention(type.dtype, shape, order, keyOrder, /*causal=*/true);
        c.queryStart.offset = start;
        c.window = window, c.hasLastKeys = window > 0;
        if (c.hasLastKeys && order[1] == 's')
          giveSegments(c);
        check(c, type.tolerance);
      }
  }
}

/// An odd number of features, orders of indices that no library takes, chunks.
TEST_P(AttentionTest, AnythingDenseOnCpus) {
  if (isCuda())
    GTEST_SKIP() << "cuDNN has none of these";
  for (TypeCase type : types)
    for (bool causal : {false, true}) {
      for (int64_t chunk : {1, 5, 150})
        check(inChunks(type.dtype, causal ? chunk : 0), type.tolerance);
      check(makeAttention(type.dtype, {2, 3, 2, 11, 13, 7, 5}, "gshb", "shb",
                          causal),
            type.tolerance);
      check(makeAttention(type.dtype, {2, 3, 2, 11, 1, 1, 1}, "shgb", "hsb",
                          causal),
            type.tolerance);
    }
}

TEST_P(AttentionTest, WindowsCapsBiasesAndSegments) {
  TPSP_SKIP_WITHOUT_CUDNN();
  // cuDNN has features in multiples of 8.
  const int64_t unit = isCuda() ? 8 : 1;
  const Shape shape{2, 3, 2, 37, 41, 7 * unit, 5 * unit};
  // Takes more than one block of queries and of keys.
  const Shape longer{1, 2, 1, 300, 530, 3 * unit, 4 * unit};
  for (TypeCase type : types)
    for (bool causal : {false, true}) {
      auto with = [&](const Shape &of, int64_t window, double softcap,
                      const char *bias, bool hasSegments, int64_t start = 0) {
        if ((isCuda() && (elementBytes(type.dtype) != 2 || *bias)) ||
            isLeftOut())
          return;
        AttentionCommand c =
            makeAttention(type.dtype, of, "bshg", "bsh", causal);
        c.window = causal ? window : 0;
        c.queryStart.offset = causal ? start : 0;
        c.softcap = softcap;
        if (*bias)
          giveBias(c, bias);
        if (hasSegments)
          giveSegments(c);
        SCOPED_TRACE(testing::Message()
                     << elementName(type.dtype) << " window " << c.window
                     << " cap " << softcap << " bias " << bias << " segments "
                     << hasSegments << " causal " << causal << " seed "
                     << testSeed());
        check(c, type.tolerance);
      };
      with(shape, 5, 0, "", false);
      with(shape, 0, 1.5, "", false);
      with(longer, 0, 2.5, "", false);
      with(longer, 33, 1.5, "", true);
      with(longer, 150, 0, "", true, /*start=*/200);
      with(longer, 70, 0, "", false, /*start=*/200);
      with(longer, 0, 1.5, "", false, /*start=*/230);
      for (const char *bias : {"bhgst", "ts", "bt", "hs", "gth"})
        with(shape, 0, 0, bias, false);
      with(shape, 1, 0, "", true);
      with(shape, 9, 2.5, "hgst", true);
      with(longer, 33, 0, "st", true);
      with(shape, 5, 1.5, "bt", true, /*start=*/3);
      with(shape, 0, 0, "st", false, /*start=*/40);
      with(longer, 33, 0, "st", false, /*start=*/200);
    }
}

TEST_P(AttentionTest, LengthsOfKeys) {
  TPSP_SKIP_WITHOUT_CUDNN();
  const int64_t unit = isCuda() ? 8 : 1;
  const Shape shape{3, 4, 2, 37, 41, 7 * unit, 5 * unit};
  const Shape longer{5, 1, 1, 150, 530, 3 * unit, 4 * unit};
  for (TypeCase type : types)
    for (bool causal : {false, true}) {
      auto with = [&](const Shape &of, const AttentionLayout &lengths,
                      int64_t window, const char *bias, bool hasSegments) {
        if ((isCuda() && (elementBytes(type.dtype) != 2 || *bias ||
                          (lengths.head > 0 && of.batch > 1))) ||
            isLeftOut())
          return;
        AttentionCommand c =
            makeAttention(type.dtype, of, "bshg", "bsh", causal);
        c.window = causal ? window : 0;
        if (*bias)
          giveBias(c, bias);
        if (hasSegments)
          giveSegments(c);
        c.hasLengths = true;
        c.lengths = lengths;
        SCOPED_TRACE(testing::Message()
                     << elementName(type.dtype) << " window " << c.window
                     << " bias " << bias << " segments " << hasSegments
                     << " causal " << causal << " seed " << testSeed());
        // cuDNN rounds the gradients of each group before it adds them up. If
        // few keys count, these are large.
        check(c, (isCuda() ? 2 : 1) * type.tolerance);
      };
      with(shape, {1}, 0, "", false);
      with(shape, {0, 1}, 5, "st", false);
      with(shape, {4, 1}, 0, "ht", true);
      with(shape, {1, 3}, 9, "", true);
      with(shape, {}, 0, "t", false);
      with(shape, {1}, 9, "", true);
      with({1, 4, 2, 37, 41, 2 * unit, 3 * unit}, {0, 1}, 9, "", false);
      with(longer, {1}, 33, "", false);
      with(longer, {1}, 0, "", true);
    }
}

/// A bias of minus infinity hides a key. Any other bias is a number, even if a
/// whole row has it. Then the statistic, such as -1e30 + log 4, loses the log.
TEST_P(AttentionTest, BiasesThatHideAndBiasesThatAreLow) {
  if (isCuda())
    GTEST_SKIP() << "plans for GPUs have kernels for these";
  const Shape shape{2, 3, 2, 37, 41, 7, 5}, longer{1, 2, 1, 300, 530, 3, 4};
  for (TypeCase type : types)
    for (bool causal : {false, true})
      for (double low : {-1e30, -1e9, -65504.0}) {
        // f16 holds only -65504. In f32 this bias would keep some digits of a
        // score, whose last depends on the order of summation.
        bool isOfF16 = low == -65504;
        if ((type.dtype == TPSP_RT_F16 && !isOfF16) ||
            (type.dtype == TPSP_RT_F32 && isOfF16))
          continue;
        lowBias = low;
        auto with = [&](const Shape &of, const char *bias, bool hasSegments,
                        bool hasLengths, int64_t start = 0) {
          AttentionCommand c =
              makeAttention(type.dtype, of, "bshg", "bsh", causal);
          c.queryStart.offset = causal ? start : 0;
          giveBias(c, bias);
          if (hasSegments)
            giveSegments(c);
          c.hasLengths = hasLengths;
          SCOPED_TRACE(testing::Message()
                       << elementName(type.dtype) << " low " << low << " bias "
                       << bias << " segments " << hasSegments << " lengths "
                       << hasLengths << " causal " << causal << " seed "
                       << testSeed());
          check(c, type.tolerance);
        };
        for (const char *bias : {"st", "hgst", "bt"})
          with(shape, bias, false, false);
        with(shape, "bst", true, false);
        with(shape, "st", false, true, /*start=*/4);
        with(longer, "st", false, false, /*start=*/200);
      }
}

/// The exponentials of these scores are infinite in f32.
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
