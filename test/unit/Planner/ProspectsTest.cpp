#include "tpsp/Planner/Prospects.h"
#include "SmallPrograms.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

struct Prospected {
  ProgramFacts facts = mlp(16, 64, 128, 256);
  Space space{facts, spaceOptions()};
  Bounds bounds{facts, llvm::cantFail(findHardware("h100-sxm")),
                boundOptions()};

  static SpaceOptions spaceOptions() {
    SpaceOptions options;
    options.devices = 16;
    options.devicesPerNode = 8;
    options.hasState = true;
    return options;
  }
  static BoundOptions boundOptions() {
    BoundOptions options;
    options.devices = 16;
    options.hasGradients = true;
    return options;
  }
};

} // namespace

static bool dividesPositions(const Candidate &candidate) {
  return llvm::any_of(candidate.axes, [](const CandidateAxis &axis) {
    return axis.use.role == AxisRole::Data && axis.use.activations == 1u;
  });
}

// The first prospect is the leaf whose bound promises most. None comes twice.
TEST(Prospects, AreLeavesOfTheSpace) {
  Prospected of;
  Prospects prospects(of.space, of.bounds, INT64_MAX);
  double least = INFINITY;
  for (Candidate &leaf : of.space.leaves()) {
    Bound bound = of.bounds.of({leaf, 1});
    if (bound.isPossible)
      least = std::min(least, bound.promise());
  }
  std::set<std::string> seen;
  for (int round = 0; round < 3; ++round) {
    std::vector<Prospect> taken = prospects.take(6, 0);
    ASSERT_EQ(taken.size(), 6u);
    for (const Prospect &each : taken) {
      EXPECT_EQ(each.leaf.candidate.numRanks(), 16);
      EXPECT_TRUE(
          seen.insert(subscriptText(each.leaf.candidate, of.facts)).second);
      if (round == 0 && &each == &taken.front()) {
        EXPECT_LE(each.bound.promise(), least * (1 + 1e-9));
      }
    }
  }
}

// If the first steps of a kind took long, the others are expected to.
TEST(Prospects, LearnWhatTakesLong) {
  Prospected of;
  Prospects prospects(of.space, of.bounds, INT64_MAX);
  bool hadPositions = false;
  for (int round = 0; round < 8; ++round)
    for (const Prospect &each : prospects.take(4, 0)) {
      bool isSlow = dividesPositions(each.leaf.candidate);
      hadPositions |= isSlow;
      prospects.learn(each.leaf.candidate, each.bound,
                      each.bound.promise() * (isSlow ? 9 : 1.2));
    }
  EXPECT_TRUE(hadPositions);
  for (const Prospect &each : prospects.take(4, 0))
    EXPECT_FALSE(dividesPositions(each.leaf.candidate))
        << subscriptText(each.leaf.candidate, of.facts);
}

// A leaf is no prospect if it is not expected to be faster than the limit, or
// does not fit.
TEST(Prospects, Limits) {
  Prospected of;
  Prospects prospects(of.space, of.bounds, INT64_MAX);
  EXPECT_TRUE(prospects.take(4, 1e-12).empty());
  EXPECT_EQ(prospects.take(4, 1e3).size(), 4u);
  EXPECT_TRUE(Prospects(of.space, of.bounds, 1000).take(4, 0).empty());
}
