// Tests a search's claim about its best plan. Evaluations are composed with an
// error, and budgets of evaluations end the search at any point.
#include "SearchCase.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Composed steps differ from whole steps by up to the error. The difference
/// depends only on the candidate.
class Composed : public Evaluator {
public:
  Composed(std::unique_ptr<Evaluator> inner, const ProgramFacts &facts,
           CompositionError error)
      : inner(std::move(inner)), facts(facts), error(error) {}

  Evaluation evaluate(const Candidate &candidate) override {
    return compose(inner->evaluate(candidate));
  }
  Evaluation evaluateSerially(const Candidate &candidate) override {
    return compose(inner->evaluateSerially(candidate));
  }
  Evaluation evaluateWhole(const Candidate &candidate) override {
    return inner->evaluate(candidate);
  }
  Evaluation evaluateWholeSerially(const Candidate &candidate) override {
    return inner->evaluateSerially(candidate);
  }

private:
  Evaluation compose(Evaluation step) const {
    size_t hash =
        std::hash<std::string>()(subscriptText(step.candidate, facts) +
                                 settingsText(step.candidate.settings));
    auto share = [&](size_t salt) {
      return double((hash / salt) % 2001) / 1000 - 1;
    };
    double time = share(1);
    time *= time < 0 ? error.lessTime : error.moreTime;
    step.seconds *= 1 / (1 + time);
    step.computing /= 1 + error.busy * share(2001);
    double memory = share(5003);
    memory *= memory < 0 ? error.lessMemory : error.moreMemory;
    step.memory.total = int64_t(double(step.memory.total) / (1 + memory));
    step.isComposed = true;
    step.error = error;
    return step;
  }

  std::unique_ptr<Evaluator> inner;
  const ProgramFacts &facts;
  const CompositionError error;
};

constexpr CompositionError planted = {0.1, 0.15, 0.02, 0.05, 0.1};

struct ComposedCase : Case {
  /// Only with stages does the search climb through settings.
  explicit ComposedCase(unsigned seed, int64_t stages = 1)
      : Case(seed, stages) {
    options.finalists = 3;
    options.batch = 4;
  }

  SearchResult run(int64_t evaluations, bool overlaps) {
    options.evaluationsLimit = evaluations;
    std::atomic<int64_t> overlapped{0};
    EvaluatorFactory whole = overlaps ? overlapping(overlapped) : factory();
    options.overlaps = overlaps;
    options.serialBounds = overlaps ? &bounds : nullptr;
    EvaluatorFactory composed = [&] {
      return std::make_unique<Composed>(whole(), space.program(), planted);
    };
    return search(space, bounds, composed, {}, options,
                  [](const SearchState &) {});
  }
};

/// Returns the seconds that every plan takes at least, by the search's claim.
double leastClaimed(const SearchResult &result, const Evaluation &best) {
  return best.seconds * (1 - result.state.gap);
}

/// The claims and the best plans of searches with several budgets. `gaps`
/// counts the searches that left a gap.
struct Runs {
  std::vector<double> least, best;
  int64_t gaps = 0;

  void add(unsigned seed, int64_t stages, bool overlaps) {
    for (int64_t evaluations : {3, 10, 24, 60, 0}) {
      ComposedCase each(seed, stages);
      SearchResult result = each.run(evaluations, overlaps);
      const Evaluation *found = result.best(each.options.memoryLimit);
      if (!found)
        continue;
      EXPECT_FALSE(found->isComposed) << seed;
      gaps += result.state.gap > 0;
      least.push_back(leastClaimed(result, *found));
      best.push_back(found->seconds);
    }
  }

  void expectNoContradiction(const std::string &what) const {
    for (double claimed : least)
      for (double had : best)
        EXPECT_LE(claimed, had * (1 + 1e-12)) << what;
  }
};

} // namespace

// No answer contradicts another. Whatever the budget, no plan of any answer,
// and no plan at all, is faster than the gap claims.
TEST(Claim, HoldsForAllPairsOfRuns) {
  int64_t gaps = 0, all = 0;
  for (unsigned seed = 0; seed < 5; ++seed)
    for (bool overlaps : {false, true})
      for (int64_t stages : {1, 2}) {
        Runs runs;
        runs.add(seed, stages, overlaps);
        ComposedCase each(seed, stages);
        if (std::optional<Evaluation> best = each.bruteForce();
            best && stages == 1)
          runs.best.push_back(best->seconds);
        runs.expectNoContradiction(std::to_string(seed) +
                                   (overlaps ? " with overlap, " : ", ") +
                                   std::to_string(stages) + " stages");
        gaps += runs.gaps;
        all += int64_t(runs.least.size());
      }
  EXPECT_GT(gaps, 10);
  EXPECT_GT(all - gaps, 10);
}

// With enough evaluations the search finds the best whole program and leaves no
// gap.
TEST(Claim, EndsWithTheBestOfWholePrograms) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    ComposedCase each(seed);
    SearchResult result = each.run(/*evaluations=*/0, /*overlaps=*/false);
    const Evaluation *best = result.best(each.options.memoryLimit);
    std::optional<Evaluation> expected = each.bruteForce();
    ASSERT_EQ(best != nullptr, expected.has_value()) << seed;
    if (!best)
      continue;
    EXPECT_EQ(result.state.gap, 0) << seed;
    EXPECT_EQ(best->seconds, expected->seconds) << seed;
  }
}

// If a composed step is off by more than its stated error, the error of all
// others becomes as large.
TEST(Claim, LearnsTheErrorOfComposition) {
  ComposedCase each(3);
  EvaluatorFactory whole = each.factory();
  EvaluatorFactory composed = [&] {
    CompositionError understated = {0.3, 0.3, 0, 0, 0};
    auto made =
        std::make_unique<Composed>(whole(), each.space.program(), understated);
    return made;
  };
  class Understated : public Evaluator {
  public:
    explicit Understated(std::unique_ptr<Evaluator> inner)
        : inner(std::move(inner)) {}
    Evaluation evaluate(const Candidate &candidate) override {
      Evaluation step = inner->evaluate(candidate);
      step.error.lessTime = step.error.moreTime = 0.001;
      return step;
    }
    Evaluation evaluateWhole(const Candidate &candidate) override {
      return inner->evaluateWhole(candidate);
    }

  private:
    std::unique_ptr<Evaluator> inner;
  };
  each.options.evaluationsLimit = 24;
  SearchResult result = search(
      each.space, each.bounds,
      [&] { return std::make_unique<Understated>(composed()); }, {},
      each.options, [](const SearchState &) {});
  ASSERT_GT(result.seen.time(), 0.001);
  int64_t open = 0;
  for (const Evaluation &row : result.evaluations)
    if (row.isComposed) {
      EXPECT_GE(row.error.lessTime, result.seen.lessTime);
      EXPECT_GE(row.error.moreTime, result.seen.moreTime);
      ++open;
    }
  EXPECT_GT(open, 0);
}

// The number of threads changes nothing, even if a budget ends the search.
TEST(Claim, BudgetsOfEvaluationsDoNotDependOnThreads) {
  auto run = [](unsigned threads) {
    ComposedCase each(4);
    each.options.threads = threads;
    SearchResult result = each.run(/*evaluations=*/20, /*overlaps=*/false);
    std::string text = std::to_string(result.state.gap);
    for (const Evaluation &row : result.evaluations)
      text += subscriptText(row.candidate, each.space.program()) +
              (row.isComposed ? " composed\n" : "\n");
    return text;
  };
  EXPECT_EQ(run(1), run(4));
}
