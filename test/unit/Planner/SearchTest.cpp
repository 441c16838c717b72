#include "tpsp/Planner/Search.h"
#include "Planner/EvaluationPool.h"
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
    result.seconds = boundOf(leaf) * (1 + double(random() % 1000) / 1000);
    result.memory.total =
        bounds.bytesWith(leaf, candidate.settings) +
        int64_t(random() % 200000) / candidate.settings.microBatches;
    if (candidate.hasStages())
      result.seconds *= 1 + double((seed + candidate.settings.microBatches +
                                    3 * unsigned(candidate.settings.chunks)) %
                                   5) /
                                10;
    return result;
  }

private:
  /// With the candidate's settings.
  double boundOf(const SpaceNode &leaf) const {
    auto sized = bounds.sized(leaf, {leaf.candidate.settings}, 0);
    return (sized.empty() ? bounds.of(leaf) : sized.front().bound).seconds;
  }

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
    std::vector<Settings> result;
    for (int64_t chunks : {1, 2})
      for (int64_t parts : {8, 4, 2})
        result.push_back({parts, "none", "1f1b", chunks});
    return result;
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

  const std::vector<Settings> &all(const Candidate &candidate) const {
    return candidate.hasStages() ? options.stageSettings : options.settings;
  }
  /// Of a candidate.
  std::vector<Settings> settingsOf(const Candidate &candidate) const {
    std::vector<Settings> result;
    for (const Settings &each : all(candidate))
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
      if (settingsOf(candidate).empty())
        continue;
      std::vector<Settings> settings =
          bounds.settingsToTry(candidate, all(candidate), options.memoryLimit)
              .settings;
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
    EXPECT_FALSE(best->isSerial) << seed;
    EXPECT_LT(overlapped, result.state.evaluations / 2) << seed;
    // The same behind a search without overlap.
    each.options.serialBounds = &each.bounds;
    int64_t phases = 0;
    double last = 1;
    result = search(each.space, each.bounds, each.overlapping(overlapped), {},
                    each.options, [&](const SearchState &state) {
                      phases += state.gap > last;
                      last = state.gap;
                    });
    EXPECT_EQ(result.state.gap, 0);
    EXPECT_EQ(result.best(each.options.memoryLimit)->seconds, expected->seconds)
        << seed;
    // Of that search no gap is told.
    EXPECT_EQ(phases, 0);
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
  const Evaluation *best = result.best(each.options.memoryLimit);
  ASSERT_NE(best, nullptr);
  EXPECT_TRUE(best->isSerial);
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

// Settings that cannot beat the best plan are not tried, but where people see
// the plan.
TEST(Search, SettingsThatCannotWin) {
  int64_t all = 0, few = 0, untried = 0;
  for (unsigned seed : {2, 5, 8, 11}) {
    Case each(seed);
    each.bruteForce();
    all += each.count;
    each.options.finalists = 1;
    each.count = 0;
    SearchResult result = search(each.space, each.bounds, each.factory(), {},
                                 each.options, [](const SearchState &) {});
    few += each.count;
    for (const Evaluation &row : result.evaluations)
      untried += row.untried < row.seconds;
    each.options.finalists = 1000;
    result = search(each.space, each.bounds, each.factory(), {}, each.options,
                    [](const SearchState &) {});
    for (const Evaluation &row : result.evaluations)
      EXPECT_GE(row.untried, row.seconds);
  }
  EXPECT_GT(untried, 0);
  EXPECT_LT(2 * few, all);
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

/// Whole, a step takes half as much memory again as its layers say.
class LargerWhole : public Evaluator {
public:
  explicit LargerWhole(std::unique_ptr<Evaluator> inner)
      : inner(std::move(inner)) {}

  Evaluation evaluate(const Candidate &candidate) override {
    Evaluation result = inner->evaluate(candidate);
    result.isComposed = true;
    return result;
  }

  Evaluation evaluateWhole(const Candidate &candidate) override {
    Evaluation result = inner->evaluate(candidate);
    result.memory.total += result.memory.total / 2;
    return result;
  }

private:
  std::unique_ptr<Evaluator> inner;
};

// What does not fit whole is tried with its next settings.
TEST(Search, FinalistsFitWhole) {
  int moved = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Case each(seed);
    each.options.finalists = 3;
    EvaluatorFactory larger = [&] {
      return std::make_unique<LargerWhole>(each.factory()());
    };
    SearchResult result = search(each.space, each.bounds, larger, {},
                                 each.options, [](const SearchState &) {});
    for (const Evaluation &row : result.evaluations) {
      std::vector<Settings> all = each.settingsOf(row.candidate);
      if (row.isComposed || !row.isLegal() || row.candidate.hasStages() ||
          all.size() < 3)
        continue;
      std::unique_ptr<Evaluator> evaluator = larger();
      Candidate candidate = row.candidate;
      auto fits = [&](const Settings &settings) {
        candidate.settings = settings;
        return evaluator->evaluateWhole(candidate).memory.total <=
               each.options.memoryLimit;
      };
      EXPECT_EQ(fits(row.candidate.settings), llvm::any_of(all, fits)) << seed;
      moved += !(row.candidate.settings == all.front()) &&
               fits(row.candidate.settings);
    }
    EXPECT_GT(result.memoryError, 0.3) << seed;
  }
  EXPECT_GT(moved, 0);
}

// With stages, what needs less memory may promise more, and come before what
// does not fit whole.
TEST(Search, SettingsBeforeWhatDoesNotFitWhole) {
  class HalfAsLarge : public Evaluator {
  public:
    Evaluation evaluate(const Candidate &candidate) override {
      Evaluation result;
      result.candidate = candidate;
      result.memory.total = 800 / candidate.settings.microBatches;
      return result;
    }
    Evaluation evaluateWhole(const Candidate &candidate) override {
      tried.push_back(candidate.settings.microBatches);
      Evaluation result = evaluate(candidate);
      result.memory.total *= 2;
      return result;
    }
    std::vector<int64_t> tried;
  };
  SearchOptions options;
  options.memoryLimit = 200;
  options.threads = 1;
  HalfAsLarge *evaluator = nullptr;
  EvaluatorFactory factory = [&] {
    auto made = std::make_unique<HalfAsLarge>();
    evaluator = made.get();
    return made;
  };
  EvaluationPool pool(factory, options);
  std::vector<EvaluationTask> tasks(1);
  EvaluationTask &task = tasks.front();
  task.stage = EvaluationTask::Stage::Whole;
  task.candidate.axes = {
      {"pp", 2, {AxisRole::Stage, std::nullopt, {}, false, false}}};
  for (int64_t parts : {8, 4, 2})
    task.trials.settings.push_back({parts, "none", "1f1b"});
  auto before = std::make_shared<Evaluation>();
  before->candidate = task.candidate;
  before->candidate.settings = task.trials.settings[1];
  task.before = before;
  pool.run(tasks);
  EXPECT_EQ(task.found->candidate.settings.microBatches, 8);
  EXPECT_EQ(task.asBefore->memory.total, 400);
  // Once each.
  EXPECT_THAT(evaluator->tried, testing::ElementsAre(4, 8));
  EXPECT_EQ(task.evaluations, 2);
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
