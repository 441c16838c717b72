//===- IntegersTest.cpp - lookups, choices, counts and dropout masks ------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

using Words = std::array<uint32_t, 4>;

/// The known answers of Random123, the library of the generator's authors.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutMaskTest, KeepsTheShareThatItSays) {
  for (double rate : {0.0, 0.1, 0.5, 0.9}) {
    const Tensor mask = dropoutMask({"s", "d"}, {331, 257}, {rate, 7});
    double kept = 0;
    for (double value : mask.data)
      kept += value;
    EXPECT_NEAR(kept / double(mask.data.size()), 1 - rate, 0.01);
  }
}

TEST(DropoutMaskTest, FourNeighboursShareABlock) {
  const int64_t seed = (int64_t(3) << 32) + 7;
  const Tensor mask = dropoutMask({"d"}, {10}, {0.5, seed});
  for (uint32_t i = 0; i < 10; ++i)
    EXPECT_EQ(mask.data[i], philox({i / 4, 0, 0, 0}, {7, 3})[i % 4] >> 31);
}

TEST(DropoutMaskTest, DependsOnTheSeedAndNotOnTheShape) {
  const Tensor flat = dropoutMask({"d"}, {60}, {0.5, 1});
  EXPECT_EQ(dropoutMask({"s", "d"}, {5, 12}, {0.5, 1}).data, flat.data);
  EXPECT_NE(dropoutMask({"d"}, {60}, {0.5, 2}).data, flat.data);
  // Another step has other random numbers, by the counter's third word.
  const Tensor later = dropoutMask({"d"}, {60}, {0.5, 1, 3});
  EXPECT_NE(later.data, flat.data);
  EXPECT_EQ(later.data[0], philox({0, 0, 3, 0}, {1, 0})[0] >= (1u << 31));
}

TEST(OneHotEinsumTest, LooksRowsUp) {
  const Tensor table = randomTensor({"v", "d"}, {{"v", 5}, {"d", 3}}, 1);
  const Tensor ids{{"b", "s"}, {1, 4}, {4, 0, 5, -1}};
  const Tensor rows =
      oneHotEinsum({&ids}, {"v"}, {&table}, {"b", "s", "d"}, {1, 4, 3});
  for (int64_t d = 0; d < 3; ++d) {
    EXPECT_EQ(rows.data[d], table.data[4 * 3 + d]);
    EXPECT_EQ(rows.data[3 + d], table.data[d]);
    EXPECT_EQ(rows.data[6 + d], 0); // beyond the table
    EXPECT_EQ(rows.data[9 + d], 0);
  }
}

TEST(OneHotEinsumTest, AddsWhatGoesToOnePlace) {
  const Tensor ids{{"s"}, {3}, {2, 0, 2}};
  const Tensor x{{"s", "d"}, {3, 2}, {1, 2, 3, 4, 5, 6}};
  const Tensor sums = oneHotEinsum({&ids}, {"v"}, {&x}, {"v", "d"}, {3, 2});
  EXPECT_EQ(sums.data, (std::vector<double>{3, 4, 0, 0, 6, 8}));
}

TEST(LargestTest, FirstOfEquals) {
  const Tensor x{{"s", "e"}, {2, 4}, {1, 3, 3, 2, 9, 0, 0, 9}};
  EXPECT_EQ(largest(x, "e", "k", {"s", "k"}, {2, 3}).data,
            (std::vector<double>{1, 2, 3, 0, 3, 1}));
}

TEST(ShortfallTest, IsOfTheDifferenceToTheBest) {
  const Tensor x{{"s", "e"}, {2, 4}, {1, 3, 3, 2, 9, 0, 0, 9}};
  auto of = [&](std::vector<double> chosen) {
    return shortfall(x, "e", "k", {{"s", "k"}, {2, 2}, std::move(chosen)});
  };
  EXPECT_EQ(of({1, 2, 0, 3}), 0);
  EXPECT_EQ(of({2, 1, 3, 0}), 0); // any of equal values
  // 1 instead of 3; of eight values with the sum of squares 185.
  EXPECT_DOUBLE_EQ(of({1, 3, 0, 3}), std::sqrt((1 / 4.) / (185 / 8.)));
  // The right choices in the wrong order.
  EXPECT_EQ(of({3, 1, 0, 3}), of({1, 3, 0, 3}));
  for (const std::vector<double> &wrong : {std::vector<double>{1, 1, 0, 3},
                                           {1, 4, 0, 3},
                                           {-1, 2, 0, 3},
                                           {NAN, 2, 0, 3}})
    EXPECT_EQ(of(wrong), INFINITY);
}

/// Masked candidates do not count, and do not hide a wrong choice.
TEST(ShortfallTest, OfValuesThatAreNotFinite) {
  Tensor x{{"s", "e"}, {1, 4}, {3, -INFINITY, 4, -INFINITY}};
  auto of = [&](std::vector<double> chosen) {
    const auto count = int64_t(chosen.size());
    return shortfall(x, "e", "k", {{"s", "k"}, {1, count}, std::move(chosen)});
  };
  EXPECT_EQ(of({2, 0}), 0);
  EXPECT_EQ(of({2, 0, 3}), 0); // no better one is left
  EXPECT_DOUBLE_EQ(of({0, 2}), std::sqrt((2 / 2.) / (25 / 4.)));
  EXPECT_EQ(of({2, 1}), INFINITY);
  x.data[1] = NAN;
  EXPECT_EQ(of({2, 0}), INFINITY);
}

TEST(ShortfallTest, RefusesOtherTensors) {
  const Tensor x{{"s", "e"}, {1, 2}, {1, 3}};
  std::string error;
  shortfall(x, "v", "k", {{"s", "k"}, {1, 1}, {0}}, &error);
  EXPECT_NE(error.find("[s, k] are no choices from [s, e]"), std::string::npos)
      << error;
}

TEST(CountEarlierTest, CountsInTheOrderAsked) {
  const Tensor ids{{"s", "k"}, {3, 2}, {1, 0, 1, 1, 0, 7}};
  EXPECT_EQ(countEarlier(ids, {"s", "k"}, 2).data,
            (std::vector<double>{0, 0, 1, 2, 1, -1}));
  EXPECT_EQ(countEarlier(ids, {"k", "s"}, 2).data,
            (std::vector<double>{0, 1, 1, 2, 0, -1}));
  EXPECT_EQ(countEarlier(ids, {"k"}, 2).data,
            (std::vector<double>{0, 0, 0, 1, 0, -1}));
}

} // namespace
