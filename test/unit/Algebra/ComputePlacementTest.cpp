#include "tpsp/Algebra/ComputePlacement.h"

#include "EinsumCases.h"
#include "PlacementOracle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <numeric>

using namespace tpsp;
using namespace tpsp::oracle;

namespace {

/// Divisible by every group's size, so that byte counts are exact.
constexpr int64_t elementBytes = 36;

/// An einsum over two axes of 2 and 3 ranks. Its compute placement is chosen
/// and checked for many placements of its tensors.
class EinsumUnderTest {
public:
  explicit EinsumUnderTest(const std::vector<CaseIndex> &indices)
      : structure(structureOf(indices, elementBytes)), ranks({2, 3}),
        mesh({{"a", 2, AxisRole::None}, {"b", 3, AxisRole::None}}),
        einsum(plain(structure)), oracle(einsum, elementBytes, ranks.sizes) {
    for (const auto &operand : einsum.operands)
      operandLayouts.push_back(evenLayouts(operand, /*withPending=*/true));
    resultLayouts = evenLayouts(einsum.result, /*withPending=*/true);
  }

  uint64_t numCases() const {
    return operandLayouts[0].size() * operandLayouts[1].size() *
           (resultLayouts.size() + 1);
  }

  /// Chooses for case `number` and compares with brute force. If `onData`, also
  /// computes the einsum.
  void check(uint64_t number, bool onData) {
    std::vector<Layout> operands;
    for (const std::vector<Layout> &layouts : operandLayouts) {
      operands.push_back(layouts[number % layouts.size()]);
      number /= layouts.size();
    }
    std::optional<Layout> wanted;
    if (number < resultLayouts.size())
      wanted = resultLayouts[number];
    SCOPED_TRACE(oracle::toString(operands[0]) + " , " +
                 oracle::toString(operands[1]) + " -> " +
                 (wanted ? oracle::toString(*wanted) : "?"));

    std::vector<Placement> placements = {oracle::placementOf(operands[0]),
                                         oracle::placementOf(operands[1])};
    std::optional<Placement> wants;
    if (wanted)
      wants = oracle::placementOf(*wanted);
    auto choice = chooseComputePlacement({structure, placements, wants, mesh});
    std::optional<OperationPrice> best = oracle.best(operands, wanted);
    ++cases;
    if (!choice) {
      ++refused;
      ASSERT_FALSE(best) << "a legal choice was missed";
      return;
    }
    checkLegal(*choice, operands, wanted);
    checkPrice(*choice, placements, wants);
    OperationPrice mine{choice->cost.idle, choice->cost.collectives,
                        choice->cost.work, choice->cost.earlySums,
                        choice->cost.bytes};
    EXPECT_FALSE(best && *best < mine)
        << "chosen: " << mine.collectives << " collectives, work " << mine.work
        << ", " << mine.bytes << " B; possible: " << best->collectives << ", "
        << best->work << ", " << best->bytes << " B";
    if (onData)
      checkOnData(*choice, operands);
  }

  uint64_t cases = 0, refused = 0, computed = 0;

private:
  static Einsum plain(const IndexStructure &structure) {
    Einsum einsum;
    for (const IndexStructure::Index &index : structure.indices)
      einsum.extents.push_back(index.extent);
    for (const IndexStructure::Tensor &tensor : structure.operands)
      einsum.operands.emplace_back(tensor.indices.begin(),
                                   tensor.indices.end());
    einsum.result.assign(structure.results[0].indices.begin(),
                         structure.results[0].indices.end());
    return einsum;
  }

  std::vector<Layout> evenLayouts(const std::vector<unsigned> &tensor,
                                  bool withPending) const {
    std::vector<Layout> even;
    for (const Layout &layout :
         allLayouts(tensor.size(), ranks.sizes.size(), withPending))
      if (divides(layout, einsum.shapeOf(tensor), ranks.sizes))
        even.push_back(layout);
    return even;
  }

  static std::vector<int> drivesOf(const ComputePlacement &choice) {
    std::vector<int> drives;
    for (const Drive &drive : choice.drives)
      drives.push_back(drive.kind == Drive::Nothing   ? PlacementOracle::nothing
                       : drive.kind == Drive::Pending ? PlacementOracle::pending
                                                      : int(drive.index));
    return drives;
  }

  /// Checks that every axis drives what it may, and that the tensors'
  /// placements follow from that.
  void checkLegal(const ComputePlacement &choice,
                  const std::vector<Layout> &operands,
                  const std::optional<Layout> &wanted) const {
    std::vector<int> drives = drivesOf(choice);
    for (unsigned axis = 0; axis < drives.size(); ++axis)
      EXPECT_TRUE(oracle.allows(operands, wanted, axis, drives[axis]))
          << "axis " << axis << " drives " << drives[axis];
    bool placedAlike = false;
    for (const std::vector<unsigned> &order :
         {std::vector<unsigned>{0, 1}, std::vector<unsigned>{1, 0}}) {
      bool alike =
          layoutOf(choice.results[0]) == oracle.resultUnder(drives, order);
      for (unsigned i = 0; i < operands.size(); ++i)
        alike &= layoutOf(choice.operands[i]) ==
                 oracle.operandUnder(drives, order, i, operands[i]);
      placedAlike |= alike;
    }
    EXPECT_TRUE(placedAlike) << "operands or result are not where the drives "
                                "put them";
    for (unsigned i = 0; i < operands.size(); ++i)
      EXPECT_TRUE(divides(layoutOf(choice.operands[i]),
                          einsum.shapeOf(einsum.operands[i]), ranks.sizes));
    EXPECT_TRUE(divides(layoutOf(choice.results[0]),
                        einsum.shapeOf(einsum.result), ranks.sizes));
  }

  /// Checks that the stated cost is that of the collectives that will be
  /// inserted.
  void checkPrice(const ComputePlacement &choice,
                  const std::vector<Placement> &placements,
                  const std::optional<Placement> &wants) const {
    unsigned moves = 0, earlySums = 0;
    int64_t bytes = 0;
    auto recount = [&](const std::vector<unsigned> &tensor,
                       const Placement &from, const Placement &to) {
      auto steps = planTransition(from, to);
      ASSERT_TRUE(steps);
      Layout before = layoutOf(from);
      for (const CollectiveStep &step : *steps) {
        Layout after = layoutOf(step.after);
        Shape shape = einsum.shapeOf(tensor);
        int64_t larger = std::max(localElements(before, shape, ranks.sizes),
                                  localElements(after, shape, ranks.sizes));
        before = after;
        if (step.kind == CollectiveKind::Slice)
          continue;
        int64_t n = ranks.groupSize(step.axes);
        bool isPermute = step.kind == CollectiveKind::Permute;
        bytes += isPermute ? larger * elementBytes
                           : (step.kind == CollectiveKind::AllReduce ? 2 : 1) *
                                 larger * elementBytes / n * (n - 1);
        moves += isPermute ? 1 : step.axes.size();
      }
    };
    for (unsigned i = 0; i < placements.size(); ++i) {
      recount(einsum.operands[i], placements[i], choice.operands[i]);
      for (AxisId axis : placements[i].pending)
        earlySums += !choice.operands[i].isPending(axis);
    }
    if (wants)
      recount(einsum.result, choice.results[0], *wants);
    EXPECT_EQ(choice.cost.collectives, moves);
    EXPECT_EQ(choice.cost.earlySums, earlySums);
    EXPECT_EQ(choice.cost.bytes, bytes);
  }

  /// Checks that blocks of the operands, contracted on every rank alone, are
  /// blocks (or summands) of the whole einsum.
  void checkOnData(const ComputePlacement &choice,
                   const std::vector<Layout> &operands) {
    std::vector<Summands> inputs;
    std::vector<Dense> whole;
    for (unsigned i = 0; i < operands.size(); ++i) {
      Layout layout = layoutOf(choice.operands[i]);
      inputs.emplace_back(einsum.shapeOf(einsum.operands[i]), layout, ranks,
                          /*seed=*/i + 1);
      Layout complete;
      complete.dims.resize(layout.dims.size());
      whole.push_back(inputs.back().expected(complete, 0));
    }
    Dense expected = evaluateDense(structure, whole);
    Layout comesOut = layoutOf(choice.results[0]);
    AxisList pending(comesOut.pending.begin(), comesOut.pending.end());
    std::vector<Dense> held;
    IndexStructure local = structure;
    for (unsigned index = 0; index < local.indices.size(); ++index)
      for (const Drive &drive : choice.drives)
        if (drive == Drive{Drive::Index, index})
          local.indices[index].extent /=
              ranks.sizes[&drive - choice.drives.begin()];
    for (int64_t rank = 0; rank < ranks.count(); ++rank)
      held.push_back(
          evaluateDense(local, {inputs[0].held(rank), inputs[1].held(rank)}));
    for (int64_t rank = 0; rank < ranks.count(); ++rank) {
      Dense sum(held[rank].shape);
      for (int64_t peer : ranks.group(rank, pending))
        sum = add(sum, held[peer]);
      ASSERT_EQ(sum, ranks.block(expected, comesOut, rank))
          << "on rank " << rank;
    }
    ++computed;
  }

  IndexStructure structure;
  Ranks ranks;
  Mesh mesh;
  Einsum einsum;
  PlacementOracle oracle;
  std::vector<std::vector<Layout>> operandLayouts;
  std::vector<Layout> resultLayouts;
};

struct Totals {
  uint64_t einsums = 0, possible = 0, cases = 0, refused = 0, computed = 0;

  /// Checks about `limit` cases, evenly spread, of one einsum; by day a third.
  void run(const std::vector<Role> &roles, const std::vector<int64_t> &extents,
           uint64_t limit) {
    limit /= std::getenv("TPSP_NIGHTLY") ? 1 : 3;
    std::vector<CaseIndex> indices;
    std::string text = oracle::toString(roles);
    for (size_t i = 0; i < roles.size(); ++i) {
      indices.push_back({roles[i], extents[i]});
      text += " " + std::to_string(extents[i]);
    }
    SCOPED_TRACE(text);
    EinsumUnderTest einsum(indices);
    uint64_t all = einsum.numCases();
    uint64_t stride = (all + limit - 1) / limit;
    // An even stride would always meet the same layouts of operand 0.
    while (stride > 1 && std::gcd(stride, all) != 1)
      ++stride;
    for (uint64_t number = 0; number < all; number += stride)
      einsum.check(number, /*onData=*/number % 64 == 0);
    ++einsums;
    possible += all;
    cases += einsum.cases;
    refused += einsum.refused;
    computed += einsum.computed;
  }
  void report() const {
    testing::Test::RecordProperty("einsums", std::to_string(einsums));
    testing::Test::RecordProperty("possible", std::to_string(possible));
    testing::Test::RecordProperty("cases", std::to_string(cases));
    testing::Test::RecordProperty("refused", std::to_string(refused));
    testing::Test::RecordProperty("computed", std::to_string(computed));
    std::cout << einsums << " einsums, " << cases << " of " << possible
              << " placements (" << refused << " have no legal choice), "
              << computed << " computed on data\n";
  }
};

/// Both axes divide 6, only `a` divides 4, and only `b` divides 3.
constexpr int64_t someExtents[] = {6, 4, 3};

void forEachExtents(unsigned count,
                    const std::function<void(std::vector<int64_t>)> &visit) {
  std::vector<int64_t> extents;
  unsigned combinations = 1;
  for (unsigned i = 0; i < count; ++i)
    combinations *= 3;
  for (unsigned number = 0; number < combinations; ++number) {
    extents.clear();
    for (unsigned i = 0, rest = number; i < count; ++i, rest /= 3)
      extents.push_back(someExtents[rest % 3]);
    visit(extents);
  }
}

TEST(ComputePlacementTest, IsTheBestOfAllForEveryEinsumUpToTwoIndices) {
  Totals totals;
  for (unsigned count = 0; count <= 2; ++count)
    for (const std::vector<Role> &roles : allRoles(count))
      forEachExtents(count, [&](const std::vector<int64_t> &extents) {
        totals.run(roles, extents, UINT64_MAX / 2);
      });
  totals.report();
}

TEST(ComputePlacementTest, IsTheBestOfAllForEveryEinsumOfThreeIndices) {
  Totals totals;
  for (const std::vector<Role> &roles : allRoles(3))
    forEachExtents(3, [&](const std::vector<int64_t> &extents) {
      bool even = llvm::all_of(extents, [](int64_t e) { return e == 6; });
      totals.run(roles, extents, even ? 4000 : 150);
    });
  totals.report();
}

TEST(ComputePlacementTest, IsTheBestOfAllForEveryEinsumOfFourIndices) {
  Totals totals;
  for (const std::vector<Role> &roles : allRoles(4))
    forEachExtents(4, [&](const std::vector<int64_t> &extents) {
      bool even = llvm::all_of(extents, [](int64_t e) { return e == 6; });
      totals.run(roles, extents, even ? 1000 : 6);
    });
  totals.report();
}

TEST(ComputePlacementTest, IsTheBestOfAllOrdersOfThreeAxesOnOneIndex) {
  IndexStructure structure = structureOf({{Role::Batch, 8}}, elementBytes);
  Mesh mesh({{"a", 2, AxisRole::None},
             {"b", 1, AxisRole::None},
             {"c", 2, AxisRole::None}});
  PlacementOracle oracle({{8}, {{0}, {0}}, {0}}, elementBytes, {2, 1, 2});
  std::vector<Layout> layouts = allLayouts(1, 3, /*withPending=*/false);
  for (const Layout &first : layouts)
    for (const Layout &second : layouts)
      for (const Layout &result : layouts) {
        SCOPED_TRACE(oracle::toString(first) + " , " +
                     oracle::toString(second) + " -> " +
                     oracle::toString(result));
        std::vector<Placement> placements = {oracle::placementOf(first),
                                             oracle::placementOf(second)};
        std::optional<Placement> wants = oracle::placementOf(result);
        auto choice =
            chooseComputePlacement({structure, placements, wants, mesh});
        auto best = oracle.best({first, second}, result);
        ASSERT_TRUE(choice && best);
        OperationPrice mine{choice->cost.idle, choice->cost.collectives,
                            choice->cost.work, choice->cost.earlySums,
                            choice->cost.bytes};
        EXPECT_FALSE(*best < mine);
      }
}

//===----------------------------------------------------------------------===//
// Other operations than einsums
//===----------------------------------------------------------------------===//

class OneAxis : public testing::Test {
protected:
  /// Returns an operation all of whose tensors are [i, j].
  IndexStructure alike(unsigned operands, Linearity linearity) {
    IndexStructure structure;
    structure.linearity = linearity;
    structure.intern("i", 8);
    structure.intern("j", 8);
    IndexStructure::Tensor tensor;
    tensor.indices = {0, 1};
    tensor.shape = {8, 8};
    structure.operands.assign(operands, tensor);
    structure.results.assign(1, tensor);
    return structure;
  }
  static Placement on(std::optional<unsigned> dim) {
    Placement placement(2);
    if (dim)
      placement.dims[*dim].push_back(0);
    return placement;
  }
  static Placement partial(Reduction reduction = Reduction::Sum) {
    Placement placement(2);
    placement.pending.push_back(0);
    placement.reduction = reduction;
    return placement;
  }
  std::optional<ComputePlacement> choose(const IndexStructure &structure,
                                         std::vector<Placement> operands,
                                         std::optional<Placement> wanted = {}) {
    return chooseComputePlacement({structure, operands, wanted, mesh});
  }

  Mesh mesh{{{"a", 4, AxisRole::None}}};
};

TEST_F(OneAxis, AWholeIndexIsNeverDriven) {
  IndexStructure softmax = alike(1, Linearity::None);
  softmax.indices[1].whole = true;
  auto choice = choose(softmax, {on(1)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->operands[0], on(std::nullopt));
  choice = choose(softmax, {on(1)}, on(0));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->operands[0], on(0)) << "an all-to-all onto the rows";
  EXPECT_EQ(choice->cost.collectives, 1u);
}

TEST_F(OneAxis, ASumOfPartialsStaysPartial) {
  auto choice =
      choose(alike(3, Linearity::Joint), {partial(), partial(), partial()});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->results[0], partial());
  EXPECT_EQ(choice->cost.collectives, 0u);
  choice = choose(alike(3, Linearity::Joint), {partial(), partial(), partial()},
                  on(0));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->cost.collectives, 1u) << "reduced once, after the sum";
}

TEST_F(OneAxis, ASumOfAPartialAndAWholeIsCompletedFirst) {
  auto choice =
      choose(alike(2, Linearity::Joint), {partial(), on(std::nullopt)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->operands[0], on(std::nullopt));
  EXPECT_EQ(choice->results[0], on(std::nullopt));
}

TEST_F(OneAxis, AProductOfTwoPartialsIsCompletedFirst) {
  auto choice = choose(alike(2, Linearity::Multi), {partial(), partial()});
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->results[0].pending.empty());
  choice = choose(alike(2, Linearity::Multi), {partial(), on(std::nullopt)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->results[0], partial());
}

TEST_F(OneAxis, ASumPassesBesideAMaximumThatIsCompleted) {
  auto choice =
      choose(alike(2, Linearity::Multi), {partial(), partial(Reduction::Max)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->results[0], partial());
  EXPECT_EQ(choice->operands[1], on(std::nullopt));
  EXPECT_EQ(choice->cost.collectives, 1u);
}

TEST_F(OneAxis, APartialMaximumDoesNotPassThroughASum) {
  auto choice = choose(alike(1, Linearity::Joint), {partial(Reduction::Max)});
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->operands[0].pending.empty());
  EXPECT_TRUE(choice->results[0].pending.empty());
}

TEST_F(OneAxis, APartialMaximumPassesThroughASelection) {
  IndexStructure view = alike(1, Linearity::Joint);
  view.selects = true;
  for (Reduction reduction : {Reduction::Sum, Reduction::Max}) {
    auto choice = choose(view, {partial(reduction)}, partial(reduction));
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->operands[0], partial(reduction));
    EXPECT_EQ(choice->results[0], partial(reduction));
    EXPECT_EQ(choice->cost.collectives, 0u);
  }
  EXPECT_FALSE(
      choose(view, {partial(Reduction::Max)}, partial(Reduction::Sum)));
}

TEST_F(OneAxis, MaximaOfSomeOperandsAreCompletedBeforeASelection) {
  IndexStructure stack = alike(2, Linearity::Joint);
  stack.selects = true;
  auto choice = choose(stack, {partial(Reduction::Max), partial()});
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->operands[0].pending.empty());
  EXPECT_TRUE(choice->operands[1].pending.empty());
  EXPECT_TRUE(choice->results[0].pending.empty());
}

TEST_F(OneAxis, ANonlinearOperationNeverSeesAPartialOperand) {
  auto choice = choose(alike(1, Linearity::None), {partial()});
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->operands[0].pending.empty());
  EXPECT_FALSE(choose(alike(1, Linearity::None), {partial()}, partial()));
}

TEST_F(OneAxis, AReducedIndexLeavesAPartialOfTheOperationsReduction) {
  IndexStructure max = alike(1, Linearity::None);
  max.reduction = Reduction::Max;
  max.results[0].indices = {0};
  max.results[0].shape = {8};
  auto choice = choose(max, {on(1)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->results[0].pending, AxisList{0});
  EXPECT_EQ(choice->results[0].reduction, Reduction::Max);
}

TEST_F(OneAxis, AnIndexNobodyPlacesIsNotAChoice) {
  IndexStructure structure = alike(2, Linearity::Multi);
  std::vector<Placement> operands = {on(std::nullopt), on(0)};
  std::optional<Placement> wanted;
  EXPECT_EQ(candidates({structure, operands, wanted, mesh}, 0).size(), 2u);
  wanted = on(1);
  EXPECT_EQ(candidates({structure, operands, wanted, mesh}, 0).size(), 3u);
}

TEST_F(OneAxis, TiesGoToTheEarlierCandidate) {
  // The operands are sharded differently; either may be moved.
  auto choice = choose(alike(2, Linearity::Multi), {on(0), on(1)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->drives[0], (Drive{Drive::Index, 0}));
  choice = choose(alike(2, Linearity::Multi), {on(1), on(0)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->drives[0], (Drive{Drive::Index, 1}));
}

} // namespace
