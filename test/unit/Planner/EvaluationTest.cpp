// The settings that a plan gets, and the composition of its step.
#include "tpsp/Planner/Evaluation.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

// 6 of 10 seconds are bound by memory, and a collective costs nothing during
// them. During the other 4 it runs for 5 seconds, each of which costs a fifth.
// The rest is exposed.
TEST(Evaluation, WhatHidesSlows) {
  ComputeSeconds computing = {10, 11};
  for (auto [link, least] :
       {std::pair(0.0, 10.0), {6, 10}, {8.5, 10.5}, {11, 11}, {20, 20}})
    EXPECT_NEAR(leastSeconds(computing, link, 1.25), least, 1e-12) << link;
  // Collectives do not slow a CPU's rank.
  EXPECT_DOUBLE_EQ(leastSeconds({10, 10}, 9, 1), 10);
  EXPECT_DOUBLE_EQ(leastSeconds({10, 10}, 12, 1), 12);
}

// Two more layers may hide communication by chance that many layers do not.
TEST(Evaluation, WhatIsExposedStaysExposed) {
  Evaluation four, six;
  four.seconds = 44, four.exposed = 4;
  six.seconds = 63, six.exposed = 3;
  Evaluation sum = four;
  addDifference(sum, four, six, 10);
  EXPECT_DOUBLE_EQ(sum.exposed, 4);
  EXPECT_DOUBLE_EQ(sum.seconds, 44 + 10 * 20);
}

// A step of 8 layers, of which 2 are rematerialised.
TEST(Evaluation, AMixtureIsBetweenItsSteps) {
  Evaluation none, all;
  none.seconds = 8, all.seconds = 12;
  none.links = {{"nvlink", 1}}, all.links = {{"nvlink", 3}, {"nic", 4}};
  none.memory.total = 800, all.memory.total = 400;
  none.memory.saved = 600, all.memory.saved = 40;
  none.work.kernelSeconds = 2, all.work.kernelSeconds = 6;
  Evaluation mixed = mixtureOf(none, all, 0.25);
  EXPECT_DOUBLE_EQ(mixed.seconds, 9);
  EXPECT_EQ(mixed.memory.total, 800 - (600 - 460));
  EXPECT_EQ(mixed.memory.saved, 460);
  EXPECT_DOUBLE_EQ(mixed.links["nvlink"], 1.5);
  EXPECT_DOUBLE_EQ(mixed.links["nic"], 1);
  EXPECT_DOUBLE_EQ(mixed.work.kernelSeconds, 3);
  EXPECT_TRUE(mixed.isComposed);
  // Within a layer of `all` there is a peak for any share.
  all.memory.total = 700;
  EXPECT_EQ(mixtureOf(none, all, 0.25).memory.total, 700);
}

// A schedule adds its share to the serial step's memory, for any number of
// layers.
TEST(Evaluation, ScheduleAddsItsShare) {
  Evaluation four, six;
  four.memory.saved = 400, six.memory.saved = 600;
  four.memory.activations = four.memory.total = 500;
  six.memory.activations = six.memory.total = 800;
  four.memory.serial = 380, six.memory.serial = 585;
  Evaluation sum = four;
  addDifference(sum, four, six, 10);
  EXPECT_EQ(sum.memory.total, 2500);
  EXPECT_EQ(sum.memory.serial, 380 + 10 * 205);
  boundBySerial(sum.memory, 0.02, /*device=*/2440);
  EXPECT_EQ(sum.memory.total, 2440);
  sum.memory.total = sum.memory.activations = 2500;
  boundBySerial(sum.memory, 0.02, /*device=*/2400);
  EXPECT_EQ(sum.memory.total, 2478);
  EXPECT_EQ(sum.memory.activations, 2478);
}

// With stages, the largest number of micro-batches is tried first, then fewer
// as long as the step gets faster. If the largest number does not fit, fewer do
// not.
TEST(Evaluation, FastestMicroBatchesOfStages) {
  std::vector<Settings> settings;
  for (const char *mode : {"none", "full"})
    for (int64_t parts : {16, 8, 4, 2})
      settings.push_back({parts, mode, "1f1b"});
  std::vector<std::pair<int64_t, std::string>> tried;
  auto evaluate = [&](const Candidate &candidate) {
    const Settings &with = candidate.settings;
    tried.emplace_back(with.microBatches, with.rematerialize);
    Evaluation result;
    result.candidate = candidate;
    result.seconds = 10 + std::abs(double(with.microBatches) - 7);
    result.memory.saved =
        (with.rematerialize == "full" ? 160 : 1600) / with.microBatches;
    result.memory.total = 100 + result.memory.saved;
    return result;
  };
  Candidate candidate;
  candidate.axes = {
      {"pp", 2, {AxisRole::Stage, std::nullopt, {}, false, false}}};
  auto chosen = [&](int64_t limit) {
    int64_t evaluations = 0;
    tried.clear();
    return evaluateWithSettings(evaluate, candidate, settings, limit,
                                evaluations)
        .candidate.settings;
  };
  using testing::ElementsAre, testing::Pair;
  EXPECT_EQ(chosen(1000), (Settings{8, "none", "1f1b"}));
  EXPECT_THAT(tried,
              ElementsAre(Pair(16, "none"), Pair(8, "none"), Pair(4, "none")));
  EXPECT_EQ(chosen(200), (Settings{16, "none", "1f1b"}));
  EXPECT_THAT(tried, ElementsAre(Pair(16, "none"), Pair(8, "none")));
  EXPECT_EQ(chosen(120), (Settings{8, "full", "1f1b"}));
  EXPECT_THAT(tried, ElementsAre(Pair(16, "none"), Pair(16, "full"),
                                 Pair(8, "full"), Pair(4, "full")));
  EXPECT_EQ(chosen(1), (Settings{16, "full", "1f1b"}));
}

// More chunks are tried as long as the step gets faster, then fewer
// micro-batches, or more chunks again.
TEST(Evaluation, FastestChunksOfStages) {
  std::vector<Settings> settings;
  for (int64_t chunks : {1, 2, 4, 8})
    for (int64_t parts : {16, 8, 4})
      settings.push_back({parts, "none", "1f1b", chunks});
  std::vector<std::pair<int64_t, int64_t>> tried;
  double best = 4;
  auto evaluate = [&](const Candidate &candidate) {
    const Settings &with = candidate.settings;
    tried.emplace_back(with.microBatches, with.chunks);
    Evaluation result;
    result.seconds = 10 + std::abs(double(with.microBatches) - 8) +
                     std::abs(double(with.chunks) - best);
    result.memory.total = with.chunks == 8 ? 200 : 100;
    return result;
  };
  Candidate candidate;
  candidate.axes = {
      {"pp", 2, {AxisRole::Stage, std::nullopt, {}, false, false}}};
  auto chosen = [&] {
    int64_t evaluations = 0;
    tried.clear();
    Settings result = evaluateWithSettings(evaluate, candidate, settings,
                                           /*limit=*/150, evaluations)
                          .candidate.settings;
    EXPECT_EQ(evaluations, int64_t(tried.size()));
    return result;
  };
  using testing::ElementsAre, testing::Pair;
  EXPECT_EQ(chosen(), (Settings{8, "none", "1f1b", 4}));
  EXPECT_THAT(tried,
              ElementsAre(Pair(16, 1), Pair(16, 2), Pair(16, 4), Pair(16, 8),
                          Pair(8, 4), Pair(8, 8), Pair(8, 2), Pair(4, 4)));
  best = 1;
  EXPECT_EQ(chosen(), (Settings{8, "none", "1f1b", 1}));
  // Settings that do not fit are not chosen, even if they are faster.
  best = 8;
  EXPECT_EQ(chosen(), (Settings{8, "none", "1f1b", 4}));
  // The first settings promise most. If they are too large, more micro-batches
  // are tried, then one chunk.
  std::swap(settings.front(), settings.back());
  best = 4;
  EXPECT_EQ(chosen(), (Settings{8, "none", "1f1b", 4}));
  EXPECT_THAT(tried, ElementsAre(Pair(4, 8), Pair(8, 8), Pair(16, 8),
                                 Pair(16, 1), Pair(16, 2), Pair(16, 4),
                                 Pair(8, 4), Pair(8, 2), Pair(4, 4)));
}

// Even a quarter of the saved bytes is surely too much, so four micro-batches
// are not evaluated.
TEST(Evaluation, SettingsThatCannotFitAreNotTried) {
  std::vector<Settings> settings = {
      {1, "none"}, {2, "none"}, {4, "none"}, {8, "none"}, {1, "full"}};
  std::vector<int64_t> tried;
  auto evaluate = [&](const Candidate &candidate) {
    tried.push_back(candidate.settings.microBatches);
    Evaluation result;
    result.candidate = candidate;
    bool savesLittle = candidate.settings.rematerialize == "full";
    result.memory.parameters = 100;
    result.memory.saved =
        savesLittle ? 10 : 800 / candidate.settings.microBatches;
    result.memory.total = 110 + result.memory.saved;
    return result;
  };
  int64_t evaluations = 0;
  Evaluation chosen =
      evaluateWithSettings(evaluate, {}, settings, 290, evaluations);
  EXPECT_EQ(chosen.candidate.settings.microBatches, 8);
  EXPECT_THAT(tried, testing::ElementsAre(1, 1, 8));
  EXPECT_EQ(evaluateWithSettings(evaluate, {}, settings, 400, evaluations)
                .candidate.settings.microBatches,
            4);
}

// The bounds leave out the step without micro-batches. It is still evaluated
// for its saved bytes. A quarter of them is too much, so that is not compiled.
TEST(Evaluation, MicroBatchesAreTriedLast) {
  std::vector<Settings> settings = {{4, "none"}, {8, "none"}, {1, "full"}};
  std::vector<std::pair<int64_t, std::string>> tried;
  auto evaluate = [&](const Candidate &candidate) {
    const Settings &with = candidate.settings;
    tried.emplace_back(with.microBatches, with.rematerialize);
    Evaluation result;
    result.candidate = candidate;
    result.memory.saved =
        with.rematerialize == "full" ? 10 : 800 / with.microBatches;
    result.memory.total = result.memory.saved;
    return result;
  };
  int64_t evaluations = 0;
  EXPECT_EQ(evaluateWithSettings(evaluate, {}, settings, 50, evaluations)
                .candidate.settings,
            (Settings{1, "full"}));
  using testing::Pair;
  EXPECT_THAT(tried, testing::ElementsAre(Pair(1, "none"), Pair(1, "full")));
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(evaluateWithSettings(evaluate, {}, settings, 150, evaluations)
                .candidate.settings,
            (Settings{8, "none"}));
}

// Every micro-batch gathers the stored parameters again. If redoing the forward
// pass is faster, that is chosen.
TEST(Evaluation, FasterOfMicroBatchesAndRematerialisation) {
  std::vector<Settings> settings = {
      {1, "none"}, {2, "none"}, {1, "full"}, {2, "full"}};
  double ofMicroBatches = 3;
  auto evaluate = [&](const Candidate &candidate) {
    const Settings &with = candidate.settings;
    Evaluation result;
    result.candidate = candidate;
    bool isRedone = with.rematerialize == "full";
    result.seconds = with.microBatches > 1 ? ofMicroBatches : isRedone ? 4 : 1;
    result.memory.total = result.memory.saved =
        (isRedone ? 100 : 1000) / with.microBatches;
    return result;
  };
  int64_t evaluations = 0;
  auto chosen = [&] {
    return evaluateWithSettings(evaluate, {}, settings, 600, evaluations)
        .candidate.settings;
  };
  EXPECT_EQ(chosen(), (Settings{2, "none"}));
  ofMicroBatches = 5;
  EXPECT_EQ(chosen(), (Settings{1, "full"}));
}

// Every layer adds as much as one more does. Parameters add up exactly.
TEST(Evaluation, LayersAddUp) {
  Evaluation two, three;
  two.seconds = 5;
  two.memory = {20, 0, 0, 1, 1, 40, 10, 0, 62};
  two.parts = {{"products", 4}};
  three.seconds = 7;
  three.memory = {30, 0, 0, 1, 1, 41, 13, 0, 73};
  three.parts = {{"products", 5}, {"copies", 1}};
  Evaluation sum = two;
  addDifference(sum, two, three, 10);
  EXPECT_TRUE(sum.isComposed);
  EXPECT_EQ(sum.seconds, 25);
  EXPECT_EQ(sum.memory.parameters, 120);
  EXPECT_EQ(sum.memory.activations, 70);
  EXPECT_EQ(sum.memory.total, 192);
  EXPECT_EQ(sum.parts["products"], 14);
  EXPECT_EQ(sum.parts["copies"], 10);
}

// If a link is busy for longer than the composed step, the link decides.
TEST(Evaluation, NoStepIsShorterThanItsBusiestStream) {
  Evaluation two, three;
  two.seconds = 10;
  two.links = {{"dp", 9}};
  two.computing = 4;
  three.seconds = 10.1;
  three.links = {{"dp", 10}};
  three.computing = 5;
  Evaluation sum = two;
  addDifference(sum, two, three, 10);
  EXPECT_NEAR(sum.seconds, 11, 1e-9);
  boundByBusiest(sum);
  EXPECT_EQ(sum.seconds, 19);
  EXPECT_EQ(sum.computing, 14);
}

// A step with one more layer may have fewer gradients at its peak. Composed
// memory does not shrink further with every layer.
TEST(Evaluation, ComposedMemoryIsNotNegative) {
  Evaluation two, three;
  two.memory.gradients = 40;
  two.memory.total = 100;
  three.memory.gradients = 30;
  three.memory.total = 95;
  Evaluation sum = two;
  addDifference(sum, two, three, 30);
  EXPECT_EQ(sum.memory.gradients, 40);
  EXPECT_GE(sum.memory.total, 95);
}

// A layer adds gradients that a shallow step does not have at its peak. A deep
// step may have them there. The parts still add up.
TEST(Evaluation, ComposedMemoryHasTheMostGradients) {
  Evaluation two, three;
  two.memory.parameters = 20, three.memory.parameters = 30;
  two.memory.gradients = 5, three.memory.gradients = 6;
  two.memory.mostGradients = 20, three.memory.mostGradients = 30;
  two.memory.saved = 8, three.memory.saved = 9;
  two.memory.activations = 40, three.memory.activations = 42;
  two.memory.total = 65, three.memory.total = 78;
  Evaluation sum = two;
  addDifference(sum, two, three, 10);
  const MemoryBill &bill = sum.memory;
  EXPECT_EQ(bill.mostGradients, 120);
  EXPECT_EQ(bill.gradients, 15);
  // Each layer adds parameters, the most gradients, and saved bytes: 10 + 10 +
  // 1.
  EXPECT_EQ(bill.total, 65 + 210);
  EXPECT_EQ(bill.parameters + bill.gradients + bill.activations, bill.total);
}

TEST(Evaluation, NoMoreIsSavedAtThePeakThanThereIs) {
  MemoryBill bill;
  bill.saved = 12, bill.activations = 7;
  EXPECT_EQ(bill.savedAtPeak(), 7);
  bill.activations = 13;
  EXPECT_EQ(bill.savedAtPeak(), 12);
}
