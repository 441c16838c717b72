// Random programs whose steps take their bounds and more.
#ifndef TPSP_TEST_UNIT_PLANNER_SEARCHCASE_H
#define TPSP_TEST_UNIT_PLANNER_SEARCHCASE_H

#include "SmallPrograms.h"
#include "tpsp/Planner/Search.h"

#include <atomic>
#include <random>

namespace tpsp::planner {

/// Evaluates to the bound and a random excess that depends only on the
/// candidate.
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
  /// Returns the bound with the candidate's settings.
  double boundOf(const SpaceNode &leaf) const {
    auto sized = bounds.sized(leaf, {leaf.candidate.settings}, 0);
    return (sized.empty() ? bounds.of(leaf) : sized.front().bound).seconds;
  }

  const Space &space;
  const Bounds &bounds;
  unsigned seed;
  std::atomic<int64_t> &count;
};

/// The same with overlap. Without it the step takes longer, and less memory by
/// at most the share that a schedule may add. Its streams are busy for a
/// shorter time.
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

  /// `stages` is as in SpaceOptions.
  explicit Case(unsigned seed, std::optional<int64_t> stages = std::nullopt)
      : space(facts(), spaceOptions(seed, stages)),
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
  static SpaceOptions spaceOptions(unsigned seed,
                                   std::optional<int64_t> stages) {
    SpaceOptions options;
    options.devices = 16;
    options.devicesPerNode = 8;
    options.hasState = true;
    // Small steps are fastest without stages.
    options.stages = stages.value_or(seed % 3 == 2 ? 2 : 0);
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
  /// Returns the settings of a candidate.
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

  /// Evaluates every candidate of the space and returns the best.
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

  /// Candidates that brute force has evaluated.
  int64_t staged = 0, others = 0;
};

} // namespace tpsp::planner

#endif // TPSP_TEST_UNIT_PLANNER_SEARCHCASE_H
