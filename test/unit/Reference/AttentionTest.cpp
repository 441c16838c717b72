//===- AttentionTest.cpp - attention against its definition ---------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

// g queries share each key head h; f is a feature index of v's own.
const Extents kExtents{{"b", 2}, {"s", 5}, {"t", 7}, {"g", 3},
                       {"h", 2}, {"d", 4}, {"f", 3}};

/// Returns softmax-weighted sums of v in two passes over every (query, key)
/// pair. v's features are called f.
Tensor naiveAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                      double scale, bool causal) {
  Extents queries = kExtents;
  for (const char *inner : {"t", "d", "f"})
    queries.erase(inner);
  Tensor y = zeros({"b", "s", "h", "g", "f"}, kExtents);
  forEachPosition(queries, [&](Position p) {
    const int64_t visible =
        causal ? std::min(p["s"] + 1, kExtents.at("t")) : kExtents.at("t");
    std::vector<double> weights(visible);
    double sum = 0;
    for (p["t"] = 0; p["t"] < visible; ++p["t"]) {
      double score = 0;
      for (p["d"] = 0; p["d"] < kExtents.at("d"); ++p["d"])
        score += element(q, p) * element(k, p);
      sum += weights[p["t"]] = std::exp(scale * score);
    }
    for (p["t"] = 0; p["t"] < visible; ++p["t"])
      for (p["f"] = 0; p["f"] < kExtents.at("f"); ++p["f"])
        element(y, p) += weights[p["t"]] / sum * element(v, p);
  });
  return y;
}

TEST(AttentionTest, GroupedQueriesAgainstLoops) {
  const Tensor q = randomTensor({"b", "s", "h", "g", "d"}, kExtents, 1);
  const Tensor k = randomTensor({"b", "t", "h", "d"}, kExtents, 2);
  const Tensor v = randomTensor({"b", "t", "h", "f"}, kExtents, 3);
  for (const bool causal : {false, true}) {
    const Tensor want = naiveAttention(q, k, v, 0.3, causal);
    expectNear(
        attention(q, k, v, {{{causal}, 0.3}, "s", "t", "d"}, want.indices),
        want);
  }
}

TEST(AttentionTest, MultiQueryWithoutHeadsInKeys) {
  const Tensor q = randomTensor({"g", "s", "d", "b", "h"}, kExtents, 1);
  const Tensor k = randomTensor({"d", "t"}, kExtents, 2);
  const Tensor v = randomTensor({"t", "f"}, kExtents, 3);
  const Tensor want = naiveAttention(q, k, v, 1, true);
  expectNear(attention(q, k, v, {{{true}}, "s", "t", "d"}, want.indices), want);
}

TEST(AttentionTest, ValuesMayReuseTheFeatureName) {
  const Tensor q = randomTensor({"b", "s", "h", "g", "d"}, kExtents, 1);
  const Tensor k = randomTensor({"b", "t", "h", "d"}, kExtents, 2);
  const Tensor v = randomTensor({"b", "t", "h", "f"}, kExtents, 3);
  const Tensor want = naiveAttention(q, k, v, 0.5, true);
  Tensor got =
      attention(q, k, rename(v, {"b", "t", "h", "d"}),
                {{{true}, 0.5}, "s", "t", "d"}, {"b", "s", "h", "g", "d"});
  expectNear(rename(got, want.indices), want);
}

TEST(AttentionTest, TheStatisticIsTheLogOfTheSumOfExponentials) {
  const Tensor q = randomTensor({"b", "s", "h", "g", "d"}, kExtents, 1);
  const Tensor k = randomTensor({"b", "t", "h", "d"}, kExtents, 2);
  for (const bool causal : {false, true}) {
    AttentionForm form{{{causal}, 0.7}, "s", "t", "d"};
    Tensor got = attentionStatistic(q, k, form, {"g", "b", "h", "s"});
    // With values of 1 for one key and 0 for the others, attention gives that
    // key's weight, exp(score - statistic).
    Tensor v = full({"t"}, {kExtents.at("t")}, 0);
    v.data[0] = 1;
    Tensor weight = attention(q, k, v, form, got.indices);
    Tensor first = full({"t"}, {kExtents.at("t")}, 0);
    first.data[0] = 1;
    Tensor score = einsum({&q, &k, &first}, got.indices);
    for (size_t i = 0; i < got.data.size(); ++i)
      EXPECT_NEAR(got.data[i], 0.7 * score.data[i] - std::log(weight.data[i]),
                  1e-12);
  }
}

/// Keys after the length have no effect. A negative length counts as 0, and a
/// length above the number of keys as all.
TEST(AttentionTest, KeysBehindTheLengthDoNotCount) {
  const Extents one = {{"s", 4}, {"t", 6}, {"d", 3}};
  const Tensor q = randomTensor({"s", "d"}, one, 1);
  const Tensor k = randomTensor({"t", "d"}, one, 2);
  const Tensor v = randomTensor({"t", "d"}, one, 3);
  auto first = [](const Tensor &x, int64_t count) {
    return Tensor{
        x.indices, {count, 3}, {x.data.begin(), x.data.begin() + count * 3}};
  };
  for (const bool causal : {false, true})
    for (const double length : {-2, 0, 1, 4, 6, 9}) {
      const Tensor lengths = scalar(length);
      AttentionForm form{{{causal}, 0.7}, "s", "t", "d"};
      const int64_t count = std::clamp<int64_t>(int64_t(length), 0, 6);
      Tensor want = count == 0 ? zeros({"s", "d"}, one)
                               : attention(q, first(k, count), first(v, count),
                                           form, {"s", "d"});
      form.lengths = &lengths;
      expectNear(attention(q, k, v, form, {"s", "d"}), want);
      const Tensor gradient = attentionGradient(q, k, v, q, form, 2);
      for (size_t i = size_t(count) * 3; i < gradient.data.size(); ++i)
        EXPECT_EQ(gradient.data[i], 0);
    }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Two queries and three keys, whose values are 1, 3 and 8.
struct FewKeys {
  Tensor q{{"s", "d"}, {2, 1}, {1, 2}}, k{{"t", "d"}, {3, 1}, {1, 2, 3}},
      v{{"t", "d"}, {3, 1}, {1, 3, 8}};
  Tensor bias{{"s", "t"}, {2, 3}, {0, 0, 0, 0, 0, 0}};
  AttentionForm form{{}, "s", "t", "d"};

  FewKeys() { form.bias = &bias; }
  std::vector<double> values() const {
    return attention(q, k, v, form, {"s", "d"}).data;
  }
  std::vector<double> statistic() const {
    return attentionStatistic(q, k, form, {"s"}).data;
  }
};

/// A bias of minus infinity leaves a key out. If all keys are out, values and
/// gradients are 0, and the statistic is the log of 0.
TEST(AttentionTest, ABiasOfMinusInfinityHides) {
  FewKeys few;
  few.bias.data = {0,          -kInfinity, -kInfinity,
                   -kInfinity, -kInfinity, -kInfinity};
  // A hidden key's score does not matter even if it is infinite.
  few.k.data[1] = kInfinity;
  EXPECT_EQ(few.values(), (std::vector<double>{1, 0}));
  EXPECT_EQ(few.statistic(), (std::vector<double>{1, -kInfinity}));
  few.k.data[1] = 2;
  const Tensor g{{"s", "d"}, {2, 1}, {1, 1}};
  std::array<Tensor, 5> gradients = attentionGradients(
      few.q, few.k, few.v, g, few.form, {true, true, true, true});
  EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 0}));
  EXPECT_EQ(gradients[1].data, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(gradients[2].data, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(gradients[3].data, std::vector<double>(6, 0));
}

/// Any other bias counts as a number, even if the other keys are hidden.
TEST(AttentionTest, ALowBiasIsANumber) {
  for (double low : {-1e30, -std::numeric_limits<double>::max()}) {
    FewKeys few;
    few.form.causal = true;
    few.bias.data = {low, 0, 0, low, low, 0};
    EXPECT_EQ(few.values(), (std::vector<double>{1, 2}));
    EXPECT_EQ(few.statistic(), (std::vector<double>{low, low}));
    const Tensor g{{"s", "d"}, {2, 1}, {0, 1}};
    std::array<Tensor, 5> gradients = attentionGradients(
        few.q, few.k, few.v, g, few.form, {true, true, true, true});
    // Two weights are 1/2. Their values differ by 2, their keys by 1, and the
    // query is 2.
    EXPECT_EQ(gradients[0].data, (std::vector<double>{0, 0.5}));
    EXPECT_EQ(gradients[1].data, (std::vector<double>{-1, 1, 0}));
    EXPECT_EQ(gradients[2].data, (std::vector<double>{0.5, 0.5, 0}));
    EXPECT_EQ(gradients[3].data, (std::vector<double>{0, 0, 0, -0.5, 0.5, 0}));
  }
}

/// A low bias hides nothing next to a key that another rule hides.
TEST(AttentionTest, RowsWithoutKeys) {
  FewKeys few;
  const Tensor ofQueries{{"s"}, {2}, {0, 1}}, ofKeys{{"t"}, {3}, {1, 1, 1}};
  few.form.querySegments = &ofQueries;
  few.form.keySegments = &ofKeys;
  few.bias.data.assign(6, -1e30);
  EXPECT_EQ(few.values(), (std::vector<double>{0, 4}));
  EXPECT_EQ(few.statistic(), (std::vector<double>{-kInfinity, -1e30}));
  const Tensor none = scalar(0);
  few.form.lengths = &none;
  EXPECT_EQ(few.values(), (std::vector<double>{0, 0}));
  EXPECT_EQ(few.statistic(), (std::vector<double>{-kInfinity, -kInfinity}));
}

/// A sink is one more key of every row, whose value is 0.
TEST(AttentionTest, ASinkIsAKeyWithoutAValue) {
  FewKeys few;
  const Tensor sink{{}, {}, {0.25}};
  const Tensor ofQueries{{"s"}, {2}, {0, 1}}, ofKeys{{"t"}, {3}, {1, 1, 1}};
  few.form.sink = &sink;
  few.form.querySegments = &ofQueries;
  few.form.keySegments = &ofKeys;
  // The first query sees no key. The scores of the second are 2, 4 and 6.
  few.bias.data.assign(6, 0);
  const double keys = std::exp(2) + std::exp(4) + std::exp(6);
  const double total = keys + std::exp(0.25);
  const double sum = std::exp(2) + 3 * std::exp(4) + 8 * std::exp(6);
  EXPECT_EQ(few.values()[0], 0);
  EXPECT_NEAR(few.values()[1], sum / total, 1e-14);
  EXPECT_EQ(few.statistic()[0], 0.25);
  EXPECT_NEAR(few.statistic()[1], std::log(total), 1e-14);
  const Tensor g{{"s", "d"}, {2, 1}, {5, 3}};
  const Tensor slope = attentionGradient(few.q, few.k, few.v, g, few.form, 4);
  ASSERT_EQ(slope.data.size(), 1U);
  EXPECT_NEAR(slope.data[0], -std::exp(0.25) / total * 3 * sum / total, 1e-14);
}

/// Nothing hides a NaN.
TEST(AttentionTest, NoNumberStaysNone) {
  FewKeys few;
  few.q.data[0] = std::nan("");
  EXPECT_TRUE(std::isnan(few.values()[0]));
  EXPECT_TRUE(std::isnan(few.statistic()[0]));
  EXPECT_FALSE(std::isnan(few.values()[1]));
}

/// The log of a sum in which all terms but the largest underflow in f64.
TEST(AttentionTest, TheStatisticOfScoresThatAreFarApart) {
  FewKeys few;
  few.bias.data = {0, -746, -1500, 0, -1e5, -1e30};
  EXPECT_NEAR(few.statistic()[0], 1, 1e-15);
  EXPECT_NEAR(few.statistic()[1], 2, 1e-15);
}

/// Compares the gradients of all operands with finite differences of sum(g *
/// attention).
TEST(AttentionTest, GradientsAgainstDifferences) {
  const Tensor g = randomTensor({"b", "s", "h", "g", "f"}, kExtents, 4);
  for (const Dropout dropout : {Dropout{}, Dropout{0.3, 7}}) {
    AttentionForm form{{{true}, 0.7}, "s", "t", "d", dropout};
    Tensor operands[] = {randomTensor({"b", "s", "h", "g", "d"}, kExtents, 1),
                         randomTensor({"b", "t", "h", "d"}, kExtents, 2),
                         randomTensor({"b", "t", "h", "f"}, kExtents, 3)};
    auto loss = [&] {
      Tensor y =
          attention(operands[0], operands[1], operands[2], form, g.indices);
      double sum = 0;
      for (size_t i = 0; i < y.data.size(); ++i)
        sum += y.data[i] * g.data[i];
      return sum;
    };
    for (int64_t of = 0; of < 3; ++of) {
      Tensor got =
          attentionGradient(operands[0], operands[1], operands[2], g, form, of);
      ASSERT_EQ(got.indices, operands[of].indices);
      for (size_t i = 0; i < got.data.size(); i += 5) {
        constexpr double step = 1e-5;
        double &x = operands[of].data[i], before = x;
        x = before + step;
        double above = loss();
        x = before - step;
        double below = loss();
        x = before;
        EXPECT_NEAR(got.data[i], (above - below) / (2 * step), 1e-8)
            << "operand " << of << ", element " << i;
      }
    }
  }
}

TEST(AttentionTest, FailedPreconditions) {
  const Tensor q = full({"s", "d"}, {2, 3}, 1), k = full({"t", "d"}, {2, 3}, 1);
  const IndexNames names = {"s", "d"};
  std::string error;
  expectError(attention(k, k, k, {{{true}}, "s", "t", "d"}, names, {}, &error),
              error, "q must have 's'");
  error.clear();
  expectError(attention(q, q, k, {{{true}}, "s", "t", "d"}, names, {}, &error),
              error, "k and v must have 't'");
  error.clear();
  expectError(attention(q, k, k, {{{true}}, "s", "t", "x"}, names, {}, &error),
              error, "'x'");
  error.clear();
  expectError(attention(q, k, k, {{{true}}, "s", "t", "d"}, {"z"}, {}, &error),
              error, "'z'");
}

} // namespace
