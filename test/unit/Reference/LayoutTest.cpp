//===- LayoutTest.cpp - tensors, reshape, permute -------------------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

TEST(LayoutTest, Validity) {
  EXPECT_FALSE(Tensor{}.isValid());
  EXPECT_TRUE(scalar(3).isValid());
  EXPECT_TRUE((Tensor{{"i"}, {2}, {1, 2}}.isValid()));
  EXPECT_FALSE((Tensor{{"i"}, {2}, {1}}.isValid()));
  EXPECT_FALSE((Tensor{{"i"}, {}, {1}}.isValid()));
  EXPECT_TRUE(full({"i", "j"}, {0, 4}, 1).isValid());
  EXPECT_FALSE(full({"i"}, {-1}, 1).isValid());
  EXPECT_EQ(full({"i", "j"}, {3, 4}, 1).extent("j"), 4);
  EXPECT_EQ(full({"i", "j"}, {3, 4}, 1).extent("k"), std::nullopt);
}

TEST(LayoutTest, ReshapeKeepsTheData) {
  const Tensor x =
      randomTensor({"i", "j", "k"}, {{"i", 3}, {"j", 4}, {"k", 5}}, 1);
  const Tensor merged = reshape(x, {"i", "l"}, {3, 20});
  EXPECT_EQ(merged.shape, (Shape{3, 20}));
  EXPECT_EQ(merged.data, x.data);
  expectNear(reshape(merged, x.indices, x.shape), x, 0);

  std::string error;
  expectError(reshape(x, {"i"}, {59}, &error), error, "reshape");
}

TEST(LayoutTest, TakeAndStackAreInverse) {
  const Tensor x =
      randomTensor({"i", "j", "k"}, {{"i", 3}, {"j", 4}, {"k", 5}}, 2);
  for (const std::string index : {"i", "j", "k"}) {
    std::vector<Tensor> parts;
    Operands operands;
    for (int64_t at = 0; at < *x.extent(index); ++at)
      parts.push_back(take(x, index, at));
    for (const Tensor &part : parts)
      operands.push_back(&part);
    expectNear(stack(operands, index, x.indices), x, 0);
  }
  EXPECT_EQ(take(x, "j", 2).data[5 + 1], x.data[20 + 10 + 1]);

  std::string error;
  expectError(take(x, "l", 0, &error), error, "lacks l");
  error.clear();
  expectError(take(x, "j", 4, &error), error, "no position 4");
  error.clear();
  expectError(stack({&x}, "l", x.indices, &error), error, "lacks l");
  error.clear();
  expectError(stack({&x}, "j", x.indices, &error), error, "not one position");
  error.clear();
  expectError(stack({}, "j", x.indices, &error), error, "no operands");
}

TEST(LayoutTest, PermuteInEveryOrder) {
  // One dimension is longer than a tile of the transpose and not a multiple of
  // it.
  const Extents extents{{"a", 1}, {"b", 67}, {"c", 3}, {"d", 131}};
  const Tensor x = randomTensor({"a", "b", "c", "d"}, extents, 2);
  IndexNames order = {"a", "b", "c", "d"};
  do {
    const Tensor y = permute(x, order);
    ASSERT_EQ(y.indices, order);
    forEachPosition(extents, [&](const Position &p) {
      ASSERT_EQ(element(y, p), element(x, p));
    });
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(LayoutTest, PermuteScalarsDiagonalsAndErrors) {
  EXPECT_EQ(permute(scalar(2), {}).data, std::vector<double>{2});
  const Tensor x{{"i", "i"}, {2, 2}, {1, 2, 3, 4}};
  EXPECT_EQ(permute(x, {"i"}).data, (std::vector<double>{1, 4}));
  EXPECT_TRUE(permute(full({"i", "j"}, {0, 3}, 0), {"j", "i"}).isValid());
  std::string error;
  expectError(permute(x, {"i", "j"}, &error), error, "lacks [j]");
  error.clear();
  const Tensor y = full({"i", "j"}, {2, 3}, 0);
  expectError(permute(y, {"i"}, &error), error, "[j]");
}

} // namespace
