#include "tpsp/Planner/Search.h"
#include "Planner/EvaluationPool.h"
#include "SearchCase.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace tpsp;
using namespace tpsp::planner;

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

// Few plans are overlapped, and the best of them is the best of all.
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
    // The same after a search without overlap.
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
    // That search does not report a gap.
    EXPECT_EQ(phases, 0);
  }
  EXPECT_GT(found, 5);
}

// If time is up before any plan is overlapped, the result is the best plan
// without overlap. No long evaluation is begun.
TEST(Search, HasAPlanWhenTimeIsUp) {
  Case each(9);
  std::atomic<int64_t> overlapped{0};
  // Overlap is expected to take twenty times as long until more is known: too
  // long.
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

// The search ends if time is up before it begins.
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

/// Only eight micro-batches fit. Their evaluation takes longer than the time
/// left, so that fewer are not tried after them.
class Slow : public Evaluator {
public:
  Evaluation evaluate(const Candidate &candidate) override {
    Evaluation result;
    result.candidate = candidate;
    result.seconds = 1;
    if (candidate.settings.microBatches == 8)
      std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    else
      result.memory.total = INT64_MAX / 2;
    return result;
  }
};

} // namespace

// The step without micro-batches is evaluated for its saved bytes. It is no
// plan if the number of micro-batches is given, even if time is up before
// another was tried.
TEST(Search, WhatIsOnlyAskedIsNoPlan) {
  class Asked : public Evaluator {
  public:
    Evaluation evaluate(const Candidate &candidate) override {
      if (candidate.settings.microBatches == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
      Evaluation result;
      result.candidate = candidate;
      result.seconds = 1;
      return result;
    }
  };
  Case each(9);
  each.options.settings = {{2, "none"}, {2, "full"}};
  each.options.secondsLimit = 0.05;
  SearchResult result = search(
      each.space, each.bounds, [] { return std::make_unique<Asked>(); }, {},
      each.options, [](const SearchState &) {});
  for (const Evaluation &row : result.evaluations)
    if (row.isLegal() && !row.isBound && !row.candidate.hasStages()) {
      EXPECT_EQ(row.candidate.settings.microBatches, 2);
    }
}

// If time is up before all settings of a plan were tried, the best of the tried
// ones is a plan.
TEST(Search, KeepsWhatItHasOfAPlan) {
  for (bool overlaps : {false, true}) {
    Case each(2); // With two stages several settings are tried.
    // Long enough to begin on a busy machine.
    each.options.secondsLimit = 1;
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

// Settings that cannot beat the best plan are not tried, except for plans that
// the table shows.
TEST(Search, SettingsThatCannotWin) {
  int64_t all = 0, few = 0, untried = 0;
  for (unsigned seed : {2, 5, 8, 11}) {
    Case each(seed);
    each.bruteForce();
    all += each.count;
    each.options.rows = 1;
    each.count = 0;
    SearchResult result = search(each.space, each.bounds, each.factory(), {},
                                 each.options, [](const SearchState &) {});
    few += each.count;
    for (const Evaluation &row : result.evaluations)
      untried += row.untried < row.seconds;
    each.options.rows = 1000;
    result = search(each.space, each.bounds, each.factory(), {}, each.options,
                    [](const SearchState &) {});
    for (const Evaluation &row : result.evaluations)
      EXPECT_GE(row.untried, row.seconds);
  }
  EXPECT_GT(untried, 0);
  EXPECT_LT(2 * few, all);
}

// Some settings do not fit, and even their busiest stream exceeds the best
// step. Then settings that need less memory are not tried.
TEST(Search, SlowPlansAreNotMadeSmaller) {
  /// Steps of several axes take twice as long, and fit with four micro-batches.
  class BySize : public Evaluator {
  public:
    BySize(const Case &of, std::map<int64_t, int64_t> &tried, double busy)
        : of(of), tried(tried), busy(busy) {}
    Evaluation evaluate(const Candidate &candidate) override {
      bool isFast = candidate.axes.size() == 1;
      if (!isFast && !candidate.hasStages())
        ++tried[candidate.settings.microBatches];
      Evaluation result;
      result.candidate = candidate;
      result.seconds = isFast ? 1 : 2;
      result.computing = isFast ? 1 : busy;
      result.memory.total = of.options.memoryLimit;
      if (!isFast)
        result.memory.total =
            4 * result.memory.total / candidate.settings.microBatches;
      return result;
    }

  private:
    const Case &of;
    std::map<int64_t, int64_t> &tried;
    double busy;
  };
  for (double busy : {0.9, 2.0}) {
    Case each(3, /*stages=*/0);
    each.options.overlaps = true;
    each.options.threads = 1;
    each.options.evaluationsLimit = 300;
    std::map<int64_t, int64_t> tried;
    EvaluatorFactory factory = [&] {
      return std::make_unique<BySize>(each, tried, busy);
    };
    std::vector<Candidate> fast = each.space.leaves();
    llvm::erase_if(fast, [](const auto &leaf) { return leaf.axes.size() > 1; });
    SearchResult result = search(each.space, each.bounds, factory, fast,
                                 each.options, [](const SearchState &) {});
    ASSERT_TRUE(result.best(each.options.memoryLimit));
    EXPECT_EQ(result.best(each.options.memoryLimit)->seconds, 1);
    EXPECT_GT(tried[1], 0);
    if (busy > 1) {
      EXPECT_LT(tried[4], tried[1] / 2);
    } else {
      EXPECT_GT(tried[4], tried[1] / 2);
    }
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

namespace {

/// Records which candidates are evaluated, in order.
class Noted : public Evaluator {
public:
  Noted(std::unique_ptr<Evaluator> inner, const Space &space,
        std::vector<std::string> &order)
      : inner(std::move(inner)), space(space), order(order) {}

  Evaluation evaluate(const Candidate &candidate) override {
    order.push_back(subscriptText(candidate, space.program()));
    return inner->evaluate(candidate);
  }

private:
  std::unique_ptr<Evaluator> inner;
  const Space &space;
  std::vector<std::string> &order;
};

} // namespace

// Usual plans are evaluated before all others, and once.
TEST(Search, BeginsWithWhatIsUsual) {
  Case each(3);
  each.options.threads = 1;
  std::vector<Candidate> usual = each.space.pure();
  std::vector<std::string> order, names;
  for (const Candidate &candidate : usual)
    names.push_back(subscriptText(candidate, each.space.program()));
  EvaluatorFactory noted = [&] {
    return std::make_unique<Noted>(each.factory()(), each.space, order);
  };
  search(each.space, each.bounds, noted, usual, each.options,
         [](const SearchState &) {});
  ASSERT_GT(order.size(), 6u);
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(names, testing::Contains(order[i]));
    EXPECT_THAT(llvm::ArrayRef(order).drop_front(i + 1),
                testing::Not(testing::Contains(order[i])));
  }
}

// Settings are tried until one fits. If the last does not fit, none does.
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
