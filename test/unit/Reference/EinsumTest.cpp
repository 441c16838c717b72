//===- EinsumTest.cpp - contractions against n nested loops ---------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

const IndexNames kNames = {"a", "b", "c", "d"};

/// The tensors in which an index of a two-operand spec occurs, a bit each.
enum Role { kInFirst = 1, kInSecond = 2, kInResult = 4 };

/// Returns the names with the given bit in their role (3 bits of `spec` for
/// each name), in a random order.
IndexNames namesIn(unsigned spec, Role role, std::mt19937 &engine) {
  IndexNames names;
  for (size_t i = 0; i < kNames.size(); ++i)
    if (spec >> (3 * i) & role)
      names.push_back(kNames[i]);
  std::shuffle(names.begin(), names.end(), engine);
  return names;
}

std::string join(const IndexNames &names) {
  std::string text;
  for (const std::string &name : names)
    text += name;
  return text;
}

void checkAgainstLoops(const Operands &operands, const IndexNames &names,
                       const Extents &extents) {
  const Tensor want = naiveEinsum(operands, names, extents);
  std::string error;
  expectNear(einsum(operands, names, want.shape, &error), want);
  EXPECT_EQ(error, "");
}

TEST(EinsumTest, EveryTwoOperandSpecOverFourIndices) {
  std::mt19937 engine(7);
  const unsigned specs = 1u << (3 * kNames.size());
  for (unsigned spec = 0; spec < specs; ++spec) {
    Extents extents;
    for (const std::string &name : kNames)
      extents[name] = 1 + engine() % 4;
    const IndexNames first = namesIn(spec, kInFirst, engine);
    const IndexNames second = namesIn(spec, kInSecond, engine);
    const IndexNames result = namesIn(spec, kInResult, engine);
    SCOPED_TRACE(join(first) + "," + join(second) + "->" + join(result));
    const Tensor x = randomTensor(first, extents, spec);
    const Tensor y = randomTensor(second, extents, spec + 1);
    checkAgainstLoops({&x, &y}, result, extents);
    if (HasFatalFailure())
      return;
  }
}

TEST(EinsumTest, SlicesOfRowsAndColumnsInEveryLayout) {
  // Large enough for several slices and threads, and no multiple of a vector.
  for (const Extents &extents : {Extents{{"m", 331}, {"n", 67}, {"k", 29}},
                                 Extents{{"m", 331}, {"n", 401}, {"k", 37}},
                                 Extents{{"m", 1}, {"n", 997}, {"k", 53}},
                                 Extents{{"m", 997}, {"n", 1}, {"k", 53}},
                                 Extents{{"m", 1}, {"n", 1}, {"k", 10007}}})
    for (const IndexNames &a : {IndexNames{"m", "k"}, IndexNames{"k", "m"}})
      for (const IndexNames &b : {IndexNames{"k", "n"}, IndexNames{"n", "k"}})
        for (const IndexNames &c :
             {IndexNames{"m", "n"}, IndexNames{"n", "m"}}) {
          const Tensor x = randomTensor(a, extents, 1);
          const Tensor y = randomTensor(b, extents, 2);
          Tensor want = zeros(c, extents);
          const int64_t m = extents.at("m"), n = extents.at("n"),
                        k = extents.at("k");
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
              for (int64_t l = 0; l < k; ++l)
                want.data[c[0] == "m" ? i * n + j : j * m + i] +=
                    x.data[a[0] == "m" ? i * k + l : l * m + i] *
                    y.data[b[0] == "k" ? l * n + j : j * k + l];
          expectNear(einsum({&x, &y}, c), want);
        }
}

TEST(EinsumTest, BatchesInterleavedWithMatrices) {
  const Extents extents{{"b", 3}, {"s", 11}, {"t", 13}, {"h", 5}, {"d", 7}};
  const Tensor q = randomTensor({"b", "s", "h", "d"}, extents, 1);
  const Tensor k = randomTensor({"b", "t", "h", "d"}, extents, 2);
  checkAgainstLoops({&q, &k}, {"b", "h", "s", "t"}, extents);
  checkAgainstLoops({&q, &k}, {"s", "h", "t", "b"}, extents);
  checkAgainstLoops({&q, &k}, {"b", "s", "t"}, extents);
}

TEST(EinsumTest, OneOperandSumsTransposesAndBroadcasts) {
  const Extents extents{{"a", 3}, {"b", 5}, {"c", 2}};
  const Tensor x = randomTensor({"a", "b"}, extents, 1);
  for (const IndexNames &result :
       {IndexNames{}, IndexNames{"b"}, IndexNames{"b", "a"},
        IndexNames{"b", "c", "a"}, IndexNames{"c"}})
    checkAgainstLoops({&x}, result, extents);
}

TEST(EinsumTest, ManyOperandsFoldFromTheLeft) {
  const Extents extents{{"i", 3}, {"j", 4}, {"k", 5}, {"l", 1}, {"m", 2}};
  const Tensor a = randomTensor({"i", "j"}, extents, 1);
  const Tensor b = randomTensor({"j", "k"}, extents, 2);
  const Tensor c = randomTensor({"k", "l", "j"}, extents, 3);
  const Tensor d = randomTensor({"m", "i"}, extents, 4);
  const Tensor e = scalar(-1.5);
  checkAgainstLoops({&a, &b, &c}, {"l", "i"}, extents);
  checkAgainstLoops({&a, &b, &c, &d}, {"m"}, extents);
  checkAgainstLoops({&e, &d, &b, &a, &e, &c}, {"k", "m"}, extents);
  checkAgainstLoops({&a, &b, &c, &d, &e}, {}, extents);
}

TEST(EinsumTest, RepeatedIndexIsTheDiagonal) {
  Tensor x{{"i", "i"}, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(einsum({&x}, {"i"}).data, (std::vector<double>{1, 5, 9}));
  EXPECT_EQ(einsum({&x}, {}).data, (std::vector<double>{15}));
  const Tensor y{{"i"}, {3}, {1, 10, 100}};
  EXPECT_EQ(einsum({&x, &y}, {}).data, (std::vector<double>{951}));
}

TEST(EinsumTest, ExtentZero) {
  const Extents extents{{"i", 2}, {"j", 0}, {"k", 3}};
  const Tensor a = randomTensor({"i", "j"}, extents, 1);
  const Tensor b = randomTensor({"j", "k"}, extents, 2);
  EXPECT_EQ(einsum({&a, &b}, {"i", "k"}).data, std::vector<double>(6, 0.0));
  EXPECT_TRUE(einsum({&a, &b}, {"i", "j", "k"}).isValid());
  EXPECT_EQ(reduceSum(a, {"i"}).data, (std::vector<double>{0, 0}));
}

TEST(EinsumTest, FailedPreconditions) {
  const Tensor x = full({"i", "j"}, {2, 3}, 1), y = full({"j"}, {4}, 1);
  std::string error;
  expectError(einsum({&x, &y}, {"i"}, {}, &error), error, "extents 3 and 4");
  error.clear();
  expectError(einsum({&x}, {"i", "k"}, {}, &error), error, "no extent");
  error.clear();
  expectError(einsum({&x}, {"i", "i"}, {}, &error), error, "bad result");
  error.clear();
  expectError(einsum({}, {}, {}, &error), error, "no operands");
  error.clear();
  expectError(einsum({&x, nullptr}, {}, {}, &error), error, "invalid operand");
  EXPECT_FALSE(einsum({&x, &y}, {"i"}).isValid()); // No place for errors.
}

TEST(EinsumTest, TheFirstErrorIsKept) {
  const Tensor x = full({"i"}, {2}, 1);
  std::string error;
  const Tensor bad = reduceSum(x, {"k"}, &error);
  const std::string first = error;
  expectError(einsum({&bad, &x}, {}, {}, &error), error, first);
  EXPECT_NE(first, "");
}

TEST(ReductionsTest, AgainstLoops) {
  const Extents extents{{"a", 7}, {"b", 1}, {"c", 5}, {"d", 3}};
  const Tensor x = randomTensor({"a", "b", "c", "d"}, extents, 3);
  for (const IndexNames &names :
       {IndexNames{}, IndexNames{"c", "a"}, IndexNames{"a", "b", "c", "d"},
        IndexNames{"d", "b"}}) {
    expectNear(reduceSum(x, names), naiveEinsum({&x}, names, extents));
    Tensor most = zeros(names, extents);
    std::fill(most.data.begin(), most.data.end(), -10.0);
    forEachPosition(extents, [&](const Position &p) {
      element(most, p) = std::max(element(most, p), element(x, p));
    });
    expectNear(reduceMax(x, names), most, 0);
  }
}

TEST(ReductionsTest, MaximumOfNothingAndOfNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reduceMax(full({"i"}, {0}, 0), {}).data[0], -infinity);
  const Tensor x{{"i", "j"}, {3, 2}, {nan, 1, 1, nan, 2, -infinity}};
  const Tensor most = reduceMax(x, {"i"});
  EXPECT_TRUE(std::isnan(most.data[0]) && std::isnan(most.data[1]));
  EXPECT_EQ(most.data[2], 2);
}

} // namespace
