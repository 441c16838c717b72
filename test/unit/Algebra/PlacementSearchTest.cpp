#include "tpsp/Algebra/PlacementSearch.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

using Value = PlacementProblem::Value;

/// Programs over s (64), d (128), e (256) and r (8) on one model axis of four
/// ranks.
class PlacementSearchTest : public testing::Test {
protected:
  PlacementSearchTest() { problem.mesh = Mesh({{"tp", 4, AxisRole::Model}}); }

  static int64_t extent(char index) {
    return index == 's' ? 64 : index == 'd' ? 128 : index == 'e' ? 256 : 8;
  }

  /// Adds a value with these indices. tp divides the index `on`; '-' stands for
  /// none, '+' for a pending sum.
  unsigned add(const std::string &indices, char on,
               Value::Freedom freedom = Value::Fixed) {
    Value value;
    value.wanted = Placement(indices.size());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      value.shape.push_back(extent(index));
      if (index == on)
        value.wanted->dims[dim] = {0};
    }
    if (on == '+')
      value.wanted->pending = {0};
    value.freedom = freedom;
    problem.values.push_back(value);
    names.push_back(indices);
    return problem.values.size() - 1;
  }

  void operation(llvm::ArrayRef<unsigned> operands, unsigned result,
                 Linearity linearity) {
    PlacementProblem::Operation operation;
    operation.structure.linearity = linearity;
    operation.isSum = linearity == Linearity::Joint;
    auto tensorOf = [&](unsigned value) {
      IndexStructure::Tensor tensor;
      for (char index : names[value]) {
        tensor.indices.push_back(
            operation.structure.intern(std::string(1, index), extent(index)));
        tensor.shape.push_back(extent(index));
      }
      return tensor;
    };
    for (unsigned value : operands) {
      operation.structure.operands.push_back(tensorOf(value));
      operation.operands.push_back(value);
    }
    operation.structure.results.push_back(tensorOf(result));
    operation.results.push_back(result);
    problem.operations.push_back(operation);
  }

  static constexpr unsigned numVariants = 11;

  /// Adds two products. Each variant but the first differs in one fact.
  void addLayer(unsigned variant) {
    auto free = [&](bool is) { return is ? Value::Free : Value::Fixed; };
    unsigned x = add("sd", variant == 1 ? '-' : 's'), w = add("ed", 'e'),
             v = add("de", variant == 2 ? 'd' : 'e'),
             a = add("se", 'e', free(variant != 3)),
             z = add("sd", variant == 4 ? 's' : '-', free(variant == 5));
    operation({w, x}, a, Linearity::Multi);
    operation({v, a}, z, Linearity::Multi);
    problem.values[w].isWeight = variant == 6;
    problem.values[x].isSmall = variant == 7;
    problem.values[a].elementBytes = variant == 8 ? 2 : 4;
    if (variant == 9)
      problem.values[a].wanted = std::nullopt;
    problem.values[a].expected = Placement(2);
    problem.values[z].isSmall = variant == 10;
  }

  void clear() {
    problem.values.clear();
    problem.operations.clear();
    names.clear();
  }

  PlacementProblem problem;
  std::vector<std::string> names;
};

} // namespace

TEST_F(PlacementSearchTest, SmallProductsAreDoneWhereTheInputIsGatheredAnyway) {
  unsigned x = add("sd", 's'), w = add("ed", 'e'), a = add("rd", '-'),
           b = add("er", 'e');
  unsigned y0 = add("se", 'e', Value::Free), u = add("sr", 's', Value::Free),
           y = add("se", 'e', Value::Free);
  operation({w, x}, y0, Linearity::Multi);
  operation({a, x}, u, Linearity::Multi);
  operation({b, u}, y, Linearity::Multi);
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost.collectives, 1);
  EXPECT_EQ(answer->cost.bytes, 64 * 128 * 4 * 3 / 4);
  EXPECT_EQ(answer->homes[u][0], AxisState::whole());
  // Without the large product, the small product does not gather its input.
  problem.operations.erase(problem.operations.begin());
  answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->homes[u][0], AxisState::on(0));
  EXPECT_EQ(answer->cost.bytes, 64 * 8 * 4 * 3 / 4);
}

TEST_F(PlacementSearchTest, SumsThatMeetAreReducedOnce) {
  unsigned h = add("se", 'e'), v = add("de", 'e'), w = add("de", 'e'),
           x = add("sd", '-');
  unsigned a = add("sd", '-', Value::Free), b = add("sd", '-', Value::Free),
           z = add("sd", '-');
  operation({v, h}, a, Linearity::Multi);
  operation({w, h}, b, Linearity::Multi);
  operation({x, a, b}, z, Linearity::Joint);
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost.collectives, 1);
  EXPECT_EQ(answer->homes[a][0], AxisState::pending(Reduction::Sum));
  // A sum that the other phase reads is reduced at once.
  problem.values[a].readers = {std::nullopt};
  problem.values[b].readers = {std::nullopt};
  answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost.collectives, 2);
  EXPECT_EQ(answer->homes[a][0], AxisState::whole());
}

// An adapter after a divided product: its sum is saved, and joins the large
// sum.
TEST_F(PlacementSearchTest, SavedSumsWaitForAReduceScatter) {
  unsigned h = add("se", 'e'), v = add("de", 'e'), a = add("re", 'e'),
           b = add("dr", '-'), gradient = add("dr", '-');
  unsigned y = add("sd", 's', Value::Free), low = add("sr", 's', Value::Free),
           up = add("sd", 's', Value::Free), z = add("sd", 's');
  problem.values[gradient].isWeight = true;
  problem.values[low].readers = {gradient};
  operation({v, h}, y, Linearity::Multi);
  operation({a, h}, low, Linearity::Multi);
  operation({b, low}, up, Linearity::Multi);
  operation({y, up}, z, Linearity::Joint);
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->homes[low][0], AxisState::pending(Reduction::Sum));
  EXPECT_EQ(answer->cost.collectives, 1);
  EXPECT_EQ(answer->cost.small, 1); // of the parameter's gradient
}

// Two adapters' gradients: the small sums are reduced. Their large input is not
// gathered for work that every rank would do on its own summands.
TEST_F(PlacementSearchTest, NothingIsGatheredForProductsWithAPendingSum) {
  unsigned x = add("sd", 's'), h = add("se", 'e');
  for (int i = 0; i < 2; ++i) {
    unsigned w = add("er", 'e'), g = add("sr", '-', Value::Free),
             gradient = add("rd", '-', Value::Undivided);
    problem.values[gradient].isWeight = true;
    operation({w, h}, g, Linearity::Multi);
    operation({g, x}, gradient, Linearity::Multi);
  }
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost.idle, 0);
  EXPECT_EQ(answer->cost.collectives, 2);
  for (size_t product : {1, 3})
    EXPECT_EQ(answer->drives[product][0].kind, Drive::Index);
}

// A lookup of divided rows would leave a sum of full size on every rank.
TEST_F(PlacementSearchTest, RowsAreGatheredBeforeALargerLookup) {
  unsigned x = add("sd", 's'), y = add("ed", '-');
  operation({x}, y, Linearity::Multi);
  problem.operations.front().structure.usesPositions = true;
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->drives[0][0], Drive{});
  EXPECT_EQ(answer->cost.bytes, 64 * 128 * 4 * 3 / 4);
  // Any other sum is divided as its operand is.
  problem.operations.front().structure.usesPositions = false;
  answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost.idle, 0);
  EXPECT_EQ(answer->cost.bytes, 2 * 256 * 128 * 4 * 3 / 4);
}

// One collective in either case: less is sent, though all ranks do the whole
// second product.
TEST_F(PlacementSearchTest, FewerBytesComeBeforeLessWork) {
  unsigned v = add("de", 'e'), h = add("se", 'e');
  unsigned y = add("sd", '-', Value::Free), z = add("sr", 's');
  operation({v, h}, y, Linearity::Multi);
  operation({y, add("rd", '-')}, z, Linearity::Multi);
  auto answer = searchPlacements(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->homes[y][0], AxisState::pending(Reduction::Sum));
  EXPECT_EQ(answer->cost.bytes, 64 * 8 * 4 * 3 / 4);
}

TEST_F(PlacementSearchTest, AWholeTensorCannotBecomePartial) {
  unsigned x = add("sd", '-'), y = add("sd", '+');
  operation({x}, y, Linearity::Joint);
  EXPECT_FALSE(searchPlacements(problem));
}

// The answer for an operation is reused for equal operations only.
TEST_F(PlacementSearchTest, LayersThatAreNotConnectedAreDecidedAsAlone) {
  std::vector<PlacementAnswer> alone;
  for (unsigned variant = 0; variant < numVariants; ++variant) {
    clear();
    addLayer(variant);
    std::optional<PlacementAnswer> answer = searchPlacements(problem);
    ASSERT_TRUE(answer) << variant;
    alone.push_back(*answer);
  }
  for (unsigned first = 0; first < numVariants; ++first)
    for (unsigned second = 0; second < numVariants; ++second) {
      SCOPED_TRACE(testing::Message() << first << ", " << second);
      clear();
      for (unsigned variant : {first, second, first})
        addLayer(variant);
      std::optional<PlacementAnswer> answer = searchPlacements(problem);
      ASSERT_TRUE(answer);
      PlacementAnswer expected;
      for (unsigned variant : {first, second, first}) {
        llvm::append_range(expected.drives, alone[variant].drives);
        llvm::append_range(expected.homes, alone[variant].homes);
        expected.cost += alone[variant].cost;
      }
      EXPECT_TRUE(answer->drives == expected.drives);
      EXPECT_TRUE(answer->homes == expected.homes);
      EXPECT_TRUE(answer->cost == expected.cost);
    }
}
