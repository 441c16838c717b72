// The search for a schedule that fits.
#include "tpsp/Schedule/ScheduleSearch.h"

#include "tpsp/Schedule/ArenaPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

constexpr int64_t unit = 1 << 20, weight = 32 * unit;

/// Layers that gather a weight and multiply by it. All gathers could be made at
/// once, if there were room.
Plan gatheringStep(int64_t layers) {
  Plan plan;
  plan.mesh = {{"fsdp", 8, AxisRole::None}};
  auto buffer = [&](int64_t bytes, BufferKind kind) {
    PlanBuffer &added = plan.buffers.emplace_back();
    added.bytes = bytes;
    added.kind = kind;
    return int64_t(plan.buffers.size()) - 1;
  };
  auto access = [&](int64_t number, bool isWrite) {
    return PlanAccess{number, {0, plan.buffers[number].bytes, 1, 0}, isWrite};
  };
  int64_t x = buffer(unit, BufferKind::Input);
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t shard = buffer(4 * unit, BufferKind::Parameter),
            whole = buffer(weight, BufferKind::Temporary),
            y = buffer(unit, BufferKind::Temporary);
    PlanCommand gather;
    gather.kind = CommandKind::Collective;
    gather.collective.kind = CollectiveKind::AllGather;
    gather.collective.axes.push_back(0);
    gather.collective.group = 8;
    gather.collective.bytes = weight;
    gather.dtype = TPSP_RT_BF16;
    gather.accesses = {access(shard, false), access(whole, true)};
    plan.commands.push_back(gather);
    PlanCommand product;
    product.kind = CommandKind::Matmul;
    product.dtype = TPSP_RT_BF16;
    product.matmul.m = product.matmul.n = product.matmul.k = 4096;
    product.accesses = {access(x, false), access(whole, false),
                        access(y, true)};
    plan.commands.push_back(product);
    x = y;
  }
  return plan;
}

int64_t arenaBytes(const Plan &plan) {
  HappensBefore before;
  EXPECT_FALSE(HappensBefore::analyse(plan, before));
  return planArena(plan, before).bytes;
}

class ScheduleSearchTest : public ::testing::Test {
protected:
  CostModel costs() const {
    llvm::Expected<Hardware> machine = findHardware("h100-sxm");
    if (!machine)
      throw std::runtime_error(llvm::toString(machine.takeError()));
    return CostModel(*machine, step.mesh);
  }

  /// With room for so many weights more than one.
  ArenaLimits limitsFor(int64_t weights) const {
    int64_t serial = arenaBytes(step);
    return {serial, serial + weights * weight};
  }

  static SearchedSchedule run(ScheduleSearch &search) {
    llvm::Expected<SearchedSchedule> found = search.run();
    if (!found)
      throw std::runtime_error(llvm::toString(found.takeError()));
    return std::move(*found);
  }

  SearchedSchedule search(const ArenaLimits &limits) const {
    ScheduleSearch search(step, cost, limits);
    return run(search);
  }

  const Plan step = gatheringStep(12);
  const CostModel cost = costs();
};

TEST_F(ScheduleSearchTest, WhatIsFoundFitsAndUsesTheRoom) {
  llvm::Expected<SimulatedStep> serial = simulate(step, cost);
  ASSERT_TRUE(bool(serial));
  double previous = serial->seconds;
  for (int64_t weights : {0, 1, 3}) {
    ArenaLimits limits = limitsFor(weights);
    SearchedSchedule found = search(limits);
    ASSERT_TRUE(found.fits) << weights;
    EXPECT_LE(found.best.arenaBytes, limits.mostBytes) << weights;
    EXPECT_LE(arenaBytes(found.best.issued), found.best.arenaBytes) << weights;
    EXPECT_LE(found.best.simulated.seconds, previous + 1e-9) << weights;
    previous = found.best.simulated.seconds;
  }
  EXPECT_LT(previous, 0.8 * serial->seconds);
}

TEST_F(ScheduleSearchTest, WhatDoesNotFitSaysWhatItNeeds) {
  int64_t serial = arenaBytes(step);
  SearchedSchedule found = search({serial, serial / 2});
  EXPECT_FALSE(found.fits);
  EXPECT_GT(found.best.arenaBytes, serial / 2);
  EXPECT_GT(found.best.simulated.seconds, 0);
}

/// One window of each reserve, the best setting first.
TEST_F(ScheduleSearchTest, OneSettingOfEachReservePromises) {
  SearchedSchedule found = search(limitsFor(1));
  ASSERT_EQ(found.promising.size(), 9u);
  EXPECT_EQ(found.promising.front(), found.best.setting);
  for (const ListSetting &setting : listSettings())
    EXPECT_EQ(llvm::count_if(found.promising,
                             [&](const ListSetting &each) {
                               return each.isLike(setting);
                             }),
              1);
}

TEST_F(ScheduleSearchTest, AnEstimateChangesNothing) {
  ArenaLimits limits = limitsFor(2);
  SearchedSchedule plain = search(limits);
  ScheduleSearch estimated(step, cost, limits);
  llvm::Expected<double> few = estimated.estimate({{0, 0, false}}),
                         more = estimated.estimate(plain.promising);
  ASSERT_TRUE(few && more);
  EXPECT_LE(*more, *few);
  SearchedSchedule found = run(estimated);
  EXPECT_DOUBLE_EQ(found.best.simulated.seconds, plain.best.simulated.seconds);
}

} // namespace
