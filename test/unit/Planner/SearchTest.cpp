#include "tpsp/Planner/Search.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Takes the bound, and more by a number that hangs on the candidate alone.
class SlowerThanBound : public Evaluator {
public:
  SlowerThanBound(const Space &space, const Bounds &bounds, unsigned seed,
                  std::atomic<int64_t> &count)
      : space(space), bounds(bounds), seed(seed), count(count) {}

  Evaluation evaluate(const Candidate &candidate) override {
    ++count;
    Evaluation result;
    result.candidate = candidate;
    std::seed_seq sequence{seed,
                           unsigned(std::hash<std::string>()(
                               subscriptText(candidate, space.program())))};
    std::mt19937 random(sequence);
    if (random() % 7 == 0) {
      result.refusal = "not today";
      return result;
    }
    SpaceNode leaf = {candidate, 1};
    Bound bound = bounds.of(leaf);
    result.seconds = bound.seconds * (1 + double(random() % 1000) / 1000);
    result.memory.total =
        bounds.bytesWith(leaf, candidate.settings) +
        int64_t(random() % 200000) / candidate.settings.microBatches;
    if (candidate.hasStages())
      result.seconds *=
          1 + double((seed + candidate.settings.microBatches) % 5) / 10;
    return result;
  }

private:
  const Space &space;
  const Bounds &bounds;
  unsigned seed;
  std::atomic<int64_t> &count;
};

/// The same with overlap. Without, it takes longer, and no more memory but for
/// what a schedule may add; its streams are busy for less.
class Overlapped : public Evaluator {
public:
  Overlapped(std::unique_ptr<Evaluator> inner, std::atomic<int64_t> &overlapped,
             double serialSeconds)
      : inner(std::move(inner)), overlapped(overlapped),
        serialSeconds(serialSeconds) {}

  Evaluation evaluate(const Candidate &candidate) override {
    ++overlapped;
    return inner->evaluate(candidate);
  }

  Evaluation evaluateSerially(const Candidate &candidate) override {
    Evaluation result = inner->evaluate(candidate);
    result.computing = 0.9 * result.seconds;
    result.seconds *= 1.2;
    result.memory.total -= result.memory.total / 25;
    result.evaluationSeconds = serialSeconds;
    return result;
  }

private:
  std::unique_ptr<Evaluator> inner;
  std::atomic<int64_t> &overlapped;
  const double serialSeconds;
};

struct Case {
  Space space;
  Bounds bounds;
  SearchOptions options;
  unsigned seed;
  std::atomic<int64_t> count{0};

  explicit Case(unsigned seed)
      : space(facts(), spaceOptions(seed)),
        bounds(facts(), llvm::cantFail(findHardware("h100-sxm")),
               boundOptions()),
        seed(seed) {
    options.memoryLimit = 150000 + 1000 * int64_t(seed);
    options.settings = {{1, "none"}, {2, "none"}, {4, "none"}};
    options.stageSettings = stageSettings();
  }

  static std::vector<Settings> stageSettings() {
    return {{8, "none", "1f1b"}, {4, "none", "1f1b"}, {2, "none", "1f1b"}};
  }
  static ProgramFacts facts() {
    ProgramFacts facts = mlp(16, 64, 128, 256);
    facts.layers = 4;
    return facts;
  }
  static SpaceOptions spaceOptions(unsigned seed) {
    SpaceOptions options;
    options.devices = 16;
    options.devicesPerNode = 8;
    options.hasState = true;
    // Small steps are fastest without.
    options.stages = seed % 3 == 2 ? 2 : 0;
    return options;
  }
  static BoundOptions boundOptions() {
    BoundOptions options;
    options.devices = 16;
    options.hasGradients = true;
    options.stateBytes = 2 * facts().parameterBytes();
    options.microBatchIndex = 0;
    options.settings = {{1, "none"}, {2, "none"}, {4, "none"}};
    options.stageSettings = stageSettings();
    return options;
  }

  /// Of a candidate.
  std::vector<Settings> settingsOf(const Candidate &candidate) const {
    std::vector<Settings> result;
    for (const Settings &each :
         candidate.hasStages() ? options.stageSettings : options.settings)
      if (bounds.canCut({candidate, 1}, each))
        result.push_back(each);
    return result;
  }

  EvaluatorFactory factory() {
    return [this] {
      return std::make_unique<SlowerThanBound>(space, bounds, seed, count);
    };
  }

  EvaluatorFactory overlapping(std::atomic<int64_t> &overlapped,
                               double serialSeconds = 0) {
    options.overlaps = true;
    options.overlapMemory = 0.05;
    return [this, &overlapped, serialSeconds] {
      return std::make_unique<Overlapped>(factory()(), overlapped,
                                          serialSeconds);
    };
  }

  /// Every candidate of the space.
  std::optional<Evaluation> bruteForce() {
    std::optional<Evaluation> best;
    std::unique_ptr<Evaluator> evaluator = factory()();
    int64_t evaluations = 0;
    for (const Candidate &candidate : space.leaves()) {
      std::vector<Settings> settings = settingsOf(candidate);
      if (settings.empty())
        continue;
      Evaluation each = evaluateWithSettings(
          [&](const Candidate &c) { return evaluator->evaluate(c); }, candidate,
          settings, options.memoryLimit, evaluations);
      ++(candidate.hasStages() ? staged : others);
      if (each.isLegal() && each.memory.total <= options.memoryLimit &&
          (!best ||
           comesBefore(each, *best, options.memoryLimit, space.program())))
        best = each;
    }
    return best;
  }

  /// Candidates that brute force has seen.
  int64_t staged = 0, others = 0;
};

} // namespace

TEST(Search, EqualsBruteForce) {
  int found = 0, foundStages = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Case each(seed);
    std::optional<Evaluation> expected = each.bruteForce();
    each.count = 0;
    SearchResult result = search(each.space, each.bounds, each.factory(), {},
                                 each.options, [](const SearchState &) {});
    EXPECT_EQ(result.state.gap, 0);
    const Evaluation *best = result.best(each.options.memoryLimit);
    ASSERT_EQ(best != nullptr, expected.has_value()) << seed;
    if (!best)
      continue;
    ++found;
    EXPECT_GT(each.staged, 100);
    foundStages += best->candidate.hasStages();
    EXPECT_EQ(best->seconds, expected->seconds) << seed;
    EXPECT_EQ(subscriptText(best->candidate, each.space.program()),
              subscriptText(expected->candidate, each.space.program()));
    EXPECT_LT(each.count, int64_t(each.space.leaves().size())) << seed;
  }
  EXPECT_GT(found, 5);
  EXPECT_GT(foundStages, 0);
}

// Few plans are overlapped, and the best is the best of all that could be.
TEST(Search, OverlapsWhatMayStillWin) {
  int found = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Case each(seed);
    each.options.settings = {{1, "none"}};
    std::optional<Evaluation> expected = each.bruteForce();
    std::atomic<int64_t> overlapped{0};
    SearchResult result =
        search(each.space, each.bounds, each.overlapping(overlapped), {},
               each.options, [](const SearchState &) {});
    EXPECT_EQ(result.state.gap, 0);
    const Evaluation *best = result.best(each.options.memoryLimit);
    ASSERT_EQ(best != nullptr, expected.has_value()) << seed;
    if (!best)
      continue;
    ++found;
    EXPECT_EQ(best->seconds, expected->seconds) << seed;
    EXPECT_LT(overlapped, result.state.evaluations / 2) << seed;
  }
  EXPECT_GT(found, 5);
}

// Where time is up before anything is overlapped, the best plan without overlap
// is the result, and nothing that takes long is begun.
TEST(Search, HasAPlanWhenTimeIsUp) {
  Case each(9);
  std::atomic<int64_t> overlapped{0};
  // Twenty times as long, until more is known: too long.
  EvaluatorFactory slow = each.overlapping(overlapped, /*serialSeconds=*/10);
  each.options.secondsLimit = 60;
  SearchResult result = search(each.space, each.bounds, slow, each.space.pure(),
                               each.options, [](const SearchState &) {});
  EXPECT_EQ(overlapped, 0);
  EXPECT_LT(result.state.seconds, 60);
  EXPECT_GT(result.state.gap, 0);
  EXPECT_NE(result.best(each.options.memoryLimit), nullptr);
}

// Where time is up before it begins, it ends.
TEST(Search, EndsWhenTimeIsUp) {
  Case each(9);
  each.options.secondsLimit = 1e-9;
  SearchResult result =
      search(each.space, each.bounds, each.factory(), each.space.pure(),
             each.options, [](const SearchState &) {});
  EXPECT_EQ(each.count, 0);
  EXPECT_EQ(result.state.gap, 1);
}

namespace {

/// Only eight micro-batches fit, and take longer to evaluate than there is
/// time: fewer are not tried behind them.
class Slow : public Evaluator {
public:
  Evaluation evaluate(const Candidate &candidate) override {
    Evaluation result;
    result.candidate = candidate;
    result.seconds = 1;
    if (candidate.settings.microBatches == 8)
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    else
      result.memory.total = INT64_MAX / 2;
    return result;
  }
};

} // namespace

// Where time is up before all settings of a plan were tried, the best of those
// that were is a plan.
TEST(Search, KeepsWhatItHasOfAPlan) {
  for (bool overlaps : {false, true}) {
    Case each(2); // With two stages: of these several settings are tried.
    each.options.secondsLimit = 0.05;
    each.options.overlaps = overlaps;
    SearchResult result = search(
        each.space, each.bounds, [] { return std::make_unique<Slow>(); }, {},
        each.options, [](const SearchState &) {});
    const Evaluation *best = result.best(each.options.memoryLimit);
    ASSERT_NE(best, nullptr);
    EXPECT_EQ(best->candidate.settings.microBatches, 8);
    EXPECT_GT(result.state.gap, 0);
  }
}

TEST(Search, ThreadsChangeNothing) {
  auto run = [](unsigned threads) {
    Case each(7);
    each.options.threads = threads;
    SearchResult result = search(each.space, each.bounds, each.factory(), {},
                                 each.options, [](const SearchState &) {});
    std::string text = std::to_string(result.tooSlow);
    for (const Evaluation &evaluation : result.evaluations)
      text += subscriptText(evaluation.candidate, each.space.program()) + "\n";
    return text;
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(Search, StopsWithAGap) {
  Case each(3);
  each.options.evaluationsLimit = 1;
  each.options.batch = 1;
  SearchResult result = search(each.space, each.bounds, each.factory(), {},
                               each.options, [](const SearchState &) {});
  EXPECT_GT(result.state.gap, 0);
  EXPECT_LE(result.state.evaluations, 3);
}

// Settings are tried until one fits; where the last does not, none is.
TEST(Search, FirstSettingsThatFit) {
  class BySettings : public Evaluator {
  public:
    Evaluation evaluate(const Candidate &candidate) override {
      Evaluation result;
      result.candidate = candidate;
      result.memory.total = 100 / candidate.settings.microBatches;
      return result;
    }
  } evaluator;
  std::vector<Settings> settings = {{1, "none"}, {2, "none"}, {4, "none"}};
  auto chosen = [&](int64_t limit) {
    int64_t evaluations = 0;
    return evaluateWithSettings(
               [&](const Candidate &c) { return evaluator.evaluate(c); }, {},
               settings, limit, evaluations)
        .candidate.settings.microBatches;
  };
  EXPECT_EQ(chosen(100), 1);
  EXPECT_EQ(chosen(99), 2);
  EXPECT_EQ(chosen(30), 4);
  EXPECT_EQ(chosen(3), 4);
}

// With stages, the most micro-batches come first, and fewer as long as the step
// gets faster. Where the most do not fit, fewer do not.
TEST(Search, FastestMicroBatchesOfStages) {
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

// A quarter of what is saved is known to be too much: it is not evaluated.
TEST(Search, SettingsThatCannotFitAreNotTried) {
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

// Where the bounds leave out the step without micro-batches, it is asked all
// the same how much it saves: a quarter of that is too much, and is not
// compiled.
TEST(Search, MicroBatchesAreTriedLast) {
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

// Micro-batches gather again what is stored divided. Where redoing the forward
// pass takes less, it is redone.
TEST(Search, FasterOfMicroBatchesAndRematerialisation) {
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

// Layers add what one more of them adds; what lasts adds up exactly.
TEST(Search, LayersAddUp) {
  Evaluation two, three;
  two.seconds = 5;
  two.memory = {20, 0, 0, 1, 1, 40, 10, 62};
  two.parts = {{"products", 4}};
  three.seconds = 7;
  three.memory = {30, 0, 0, 1, 1, 41, 13, 73};
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

// Where a link is busier than the sum of layers says, the link decides.
TEST(Search, NoStepIsShorterThanItsBusiestStream) {
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

// Fewer gradients at the peak of a deeper step are not ever fewer.
TEST(Search, ComposedMemoryIsNotNegative) {
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
