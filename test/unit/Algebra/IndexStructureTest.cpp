#include "tpsp/Algebra/IndexStructure.h"

#include "EinsumCases.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::oracle;

namespace {

TEST(IndexStructureTest, InternGivesOneIdPerName) {
  IndexStructure structure;
  EXPECT_EQ(structure.intern("b", 2), 0u);
  EXPECT_EQ(structure.intern("s", 128), 1u);
  EXPECT_EQ(structure.intern("b", 2), 0u);
  ASSERT_EQ(structure.indices.size(), 2u);
  EXPECT_EQ(structure.indices[1].name, "s");
  EXPECT_EQ(structure.indices[1].extent, 128);
  EXPECT_FALSE(structure.indices[1].whole);
}

TEST(IndexStructureTest, WorkIsTheProductOfAllExtents) {
  IndexStructure structure;
  EXPECT_EQ(structure.work(), 1);
  structure.intern("b", 1 << 20);
  structure.intern("s", 1 << 20);
  structure.intern("d", 1 << 20);
  structure.intern("e", 1 << 20);
  EXPECT_EQ(structure.work(), 0x1p80); // beyond 64 bits
}

/// o = (g, r, k) of 2, 4 and 3 positions.
IndexStructure splitHeads() {
  IndexStructure structure;
  for (auto [name, extent] : {std::pair("g", 2), {"r", 4}, {"k", 3}})
    structure.intern(name, extent);
  IndexStructure::Tensor merged, split;
  merged.indices = {0};
  merged.minors = {{1, 2}};
  merged.shape = {24};
  split.indices = {0, 1, 2};
  split.shape = {2, 4, 3};
  structure.operands = {merged};
  structure.results = {split};
  return structure;
}

TEST(IndexStructureTest, AxesDivideThePartsOfADimensionMajorFirst) {
  IndexStructure structure = splitHeads();
  Mesh mesh({{"two", 2}, {"also", 2}, {"four", 4}, {"one", 1}, {"three", 3}});
  auto divided = [&](AxisList axes, AxisId axis) {
    Placement placement(1);
    placement.dims[0] = axes;
    return structure.indexDivided(structure.operands[0], placement, axis, mesh);
  };
  EXPECT_EQ(divided({0}, 0), IndexId(0));
  EXPECT_EQ(divided({0, 1}, 1), IndexId(1));
  EXPECT_EQ(divided({0, 2, 4}, 2), IndexId(1));
  EXPECT_EQ(divided({0, 2, 4}, 4), IndexId(2));
  EXPECT_EQ(divided({3, 0}, 3), IndexId(0));
  EXPECT_EQ(divided({2}, 2), std::nullopt); // two groups and half of r
  EXPECT_EQ(divided({0}, 1), std::nullopt); // not there
}

TEST(IndexStructureTest, AMinorPartIsABlockWhereThoseBeforeAreUsedUp) {
  IndexStructure structure = splitHeads();
  auto isOneBlock = [&](int64_t g, int64_t r, int64_t k) {
    int64_t ranks[] = {g, r, k};
    return structure.isOneBlock(structure.operands[0], 0,
                                [&](IndexId index) { return ranks[index]; });
  };
  EXPECT_TRUE(isOneBlock(1, 1, 1));
  EXPECT_TRUE(isOneBlock(2, 1, 1));
  EXPECT_TRUE(isOneBlock(2, 2, 1));
  EXPECT_TRUE(isOneBlock(2, 4, 3));
  EXPECT_FALSE(isOneBlock(1, 2, 1));
  EXPECT_FALSE(isOneBlock(1, 4, 3));
  EXPECT_FALSE(isOneBlock(2, 2, 3));
  EXPECT_FALSE(isOneBlock(2, 1, 3));
}

TEST(IndexStructureTest, DimOfIsThePositionOfAnIndex) {
  IndexStructure::Tensor tensor;
  tensor.indices = {3, 1};
  EXPECT_EQ(tensor.dimOf(1), std::optional<unsigned>(1));
  EXPECT_EQ(tensor.dimOf(3), std::optional<unsigned>(0));
  EXPECT_EQ(tensor.dimOf(0), std::nullopt);
}

TEST(AdjointTest, SwapsTheOperandAndTheResult) {
  IndexStructure matmul = structureOf({{Role::First, 8},      // e
                                       {Role::Contracted, 4}, // d
                                       {Role::Second, 6}});   // s
  IndexStructure gradient = adjoint(matmul, 0);
  EXPECT_EQ(gradient.linearity, Linearity::Multi);
  ASSERT_EQ(gradient.operands.size(), 2u);
  EXPECT_EQ(gradient.operands[0].indices, matmul.results[0].indices);
  EXPECT_EQ(gradient.operands[1].indices, matmul.operands[1].indices);
  EXPECT_EQ(gradient.results[0].indices, matmul.operands[0].indices);
  EXPECT_EQ(gradient.results[0].shape, matmul.operands[0].shape);
}

/// <g, f(x, y)> = <x, adjoint(g, y)> for every einsum and all data.
TEST(AdjointTest, IsTheTransposeOfEveryEinsumUpToFourIndices) {
  unsigned checked = 0;
  for (unsigned count = 0; count <= 4; ++count)
    for (const std::vector<Role> &roles : allRoles(count)) {
      std::vector<CaseIndex> indices;
      for (Role role : roles) // different extents, so that none are confused
        indices.push_back({role, int64_t(indices.size() + 2)});
      IndexStructure einsum = structureOf(indices);
      std::vector<Dense> operands = {randomTensor(einsum.operands[0], 1),
                                     randomTensor(einsum.operands[1], 2)};
      Dense cotangent = randomTensor(einsum.results[0], 3);
      int64_t forward = dot(cotangent, evaluateDense(einsum, operands));
      for (unsigned operand = 0; operand < 2; ++operand) {
        Dense gradient = evaluateDense(adjoint(einsum, operand),
                                       {cotangent, operands[1 - operand]});
        EXPECT_EQ(dot(operands[operand], gradient), forward)
            << toString(roles) << " by operand " << operand;
        ++checked;
      }
    }
  RecordProperty("adjoints", checked);
  EXPECT_EQ(checked, 2u * 210);
}

} // namespace
