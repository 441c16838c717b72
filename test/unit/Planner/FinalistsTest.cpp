// The last phase of a search, which evaluates whole programs.
#include "Planner/EvaluationPool.h"
#include "SearchCase.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// A whole step takes half as much memory again as the composed one.
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

// A plan that does not fit as a whole is tried with its next settings.
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
    EXPECT_GT(result.seen.memory(), 0.3) << seed;
  }
  EXPECT_GT(moved, 0);
}

// A plan that is much too large is not compiled whole, even if nothing fits,
// because that may take minutes. If any plan is enough, the first that fits
// ends the search.
TEST(Search, NoWholeOfWhatIsMuchTooLarge) {
  class FarAboveBounds : public LargerWhole {
  public:
    using LargerWhole::LargerWhole;
    Evaluation evaluate(const Candidate &candidate) override {
      Evaluation result = LargerWhole::evaluate(candidate);
      result.memory.total *= 3;
      return result;
    }
  };
  for (unsigned seed = 0; seed < 4; ++seed) {
    Case each(seed);
    each.options.finalists = 3;
    EvaluatorFactory larger = [&] {
      return std::make_unique<FarAboveBounds>(each.factory()());
    };
    auto run = [&] {
      return search(each.space, each.bounds, larger, {}, each.options,
                    [](const SearchState &) {});
    };
    each.options.memoryLimit = INT64_MAX / 4;
    SearchResult all = run();
    EXPECT_GT(all.finalists, 0) << seed;
    each.options.endsWithAny = true;
    SearchResult any = run();
    EXPECT_NE(any.best(each.options.memoryLimit), nullptr) << seed;
    EXPECT_LE(any.state.evaluations, all.state.evaluations) << seed;
    int64_t least = INT64_MAX;
    std::unique_ptr<Evaluator> evaluator = larger();
    for (Candidate candidate : each.space.leaves())
      for (const Settings &settings : each.settingsOf(candidate)) {
        candidate.settings = settings;
        if (Evaluation known = evaluator->evaluate(candidate); known.isLegal())
          least = std::min(least, known.memory.total);
      }
    each.options.memoryLimit = int64_t(0.85 * double(least));
    SearchResult none = run();
    EXPECT_EQ(none.best(each.options.memoryLimit), nullptr) << seed;
    EXPECT_GT(none.state.evaluations, 0) << seed;
    EXPECT_EQ(none.finalists, 0) << seed;
  }
}

// With stages, settings that need less memory may promise more, and so come
// before those that do not fit as a whole.
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
  // Each is tried once.
  EXPECT_THAT(evaluator->tried, testing::ElementsAre(4, 8));
  EXPECT_EQ(task.evaluations, 2);
}

} // namespace
