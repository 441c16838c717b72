// The search finds the same best plan as brute force, and no bound exceeds the
// simulator's result. By default a few programs are tested.
// TPSP_PLANNER_TRIALS=200 tests all examples and 200 random programs.
#include "RandomLinks.h"
#include "RandomModel.h"

#include "tpsp/InitAll.h"
#include "tpsp/Planner/Search.h"
#include "tpsp/Planning/CandidateEvaluator.h"
#include "tpsp/Planning/Planning.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

int trials() {
  const char *text = std::getenv("TPSP_PLANNER_TRIALS");
  return text ? std::atoi(text) : 0;
}

/// The only seed of programs to check, to look at a failure; -1 for all.
int onlySeed() {
  const char *text = std::getenv("TPSP_PLANNER_SEED");
  return text ? std::atoi(text) : -1;
}

using Known = std::map<std::string, Evaluation>;

/// Evaluates whole programs, each once.
class Remembering : public Evaluator {
public:
  Remembering(std::unique_ptr<Evaluator> inner, const ProgramFacts &facts,
              Known &known)
      : inner(std::move(inner)), facts(facts), known(known) {}

  Evaluation evaluate(const Candidate &candidate) override {
    auto [found, isNew] = known.try_emplace(
        subscriptText(candidate, facts) + settingsText(candidate.settings),
        Evaluation());
    if (isNew)
      found->second = inner->evaluateWhole(candidate);
    return found->second;
  }

  Evaluation evaluateSerially(const Candidate &candidate) override {
    return inner->evaluateSerially(candidate);
  }

private:
  std::unique_ptr<Evaluator> inner;
  const ProgramFacts &facts;
  Known &known;
};

struct Trial {
  CandidateEvaluatorOptions options;
  int64_t devices = 4;
  unsigned maxAxes = 2;
  /// The schedule of stages.
  std::string schedule = "1f1b";

  bool overlaps() const { return options.compile.overlap == "on"; }
};

struct Totals {
  int64_t programs = 0, candidates = 0, legal = 0, staged = 0, evaluated = 0,
          above = 0, limits = 0;
  double tightness = 0;
};

class PlannerExactness : public testing::Test {
protected:
  PlannerExactness() : context(dialects()) {}

  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Describes H100s with two in a node, so that even axes of few ranks lead to
  /// other nodes.
  static std::string smallNodes() {
    static const std::string path = [] {
      std::string file = testing::TempDir() + "/small-nodes.json";
      std::ofstream(file) << R"({"base": "h100-sxm-cluster",
                                "name": "small-nodes", "devices_per_node": 2})";
      return file;
    }();
    return path;
  }

  static CompileOptions compileOptions(bool isGpu, bool inSmallNodes = false) {
    CompileOptions compile;
    compile.grad = true;
    compile.hardware = inSmallNodes ? smallNodes() : isGpu ? "h100-sxm" : "cpu";
    compile.forGpu = isGpu;
    compile.attention = isGpu ? "fused" : "rows";
    // Balanced even if that is no faster, because sequences are short here.
    compile.balanceAttention = "on";
    compile.epilogues = isGpu;
    return compile;
  }

  static std::string example(const std::string &name) {
    return std::string(TPSP_EXAMPLES) + "/" + name + ".mlir";
  }

  void check(const Trial &trial) {
    SCOPED_TRACE(trial.options.path);
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
    auto program = PlannedProgram::read(context, trial.options.path,
                                        trial.options.readOptions());
    ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
    const ProgramFacts &facts = (*program)->facts();
    const CompileOptions &compile = trial.options.compile;
    SpaceOptions inSpace;
    inSpace.devices = trial.devices;
    inSpace.maxAxes = trial.maxAxes;
    inSpace.hasState = compile.optimizer != "none";
    // A ring does not depend on how calls on gathered keys are balanced.
    inSpace.mayRing = compile.keepsCalls() && compile.balanceAttention == "on";
    Space space(facts, inSpace);
    if (!space.check().empty())
      return; // Nothing divides.
    SearchOptions search = searchOptions(trial, facts);
    BoundOptions bounding = boundOptions(
        compile,
        llvm::cantFail(undividedProgram(trial.options, search.settings)),
        trial.devices, search);
    bounding.microBatchIndex = facts.find("b");
    bounding.mayRing = inSpace.mayRing;
    Bounds bounds(facts, llvm::cantFail(findHardware(compile.hardware.name())),
                  bounding);
    bounding.overlaps = false;
    Bounds serialBounds(
        facts, llvm::cantFail(findHardware(compile.hardware.name())), bounding);
    Known known;
    bruteForce(trial, space, bounds, known);
    for (int64_t limit : limitsOf(known))
      expectSearchFinds(trial, space, bounds, serialBounds, known, limit);
    ++totals.programs;
  }

  SearchOptions searchOptions(const Trial &trial,
                              const ProgramFacts &facts) const {
    SearchOptions search;
    if (std::optional<ClassId> batch = facts.find("b"); batch)
      search.stageSettings = stageSettings(trial.options.compile, {false, true},
                                           facts.classes[*batch].extent,
                                           facts.layers, {0, trial.schedule});
    search.overlaps = trial.overlaps();
    search.overlapMemory = mostAdded;
    search.batch = 1;
    return search;
  }

  static const std::vector<Settings> &all(const Candidate &candidate,
                                          const SearchOptions &search) {
    return candidate.hasStages() ? search.stageSettings : search.settings;
  }

  /// Returns the settings that a candidate may have.
  static std::vector<Settings> settingsOf(const Candidate &candidate,
                                          const Bounds &bounds,
                                          const SearchOptions &search) {
    std::vector<Settings> result;
    for (const Settings &each : all(candidate, search))
      if (bounds.canCut({candidate, 1}, each))
        result.push_back(each);
    return result;
  }

  EvaluatorFactory remembering(const Trial &trial, const Space &space,
                               Known &known) {
    return [&trial, &space, &known] {
      return std::make_unique<Remembering>(candidateEvaluators(trial.options)(),
                                           space.program(), known);
    };
  }

  void bruteForce(const Trial &trial, const Space &space, const Bounds &bounds,
                  Known &known) {
    std::unique_ptr<Evaluator> evaluator = remembering(trial, space, known)();
    SearchOptions search = searchOptions(trial, space.program());
    for (Candidate candidate : space.leaves()) {
      ++totals.candidates;
      Bound bound = bounds.of({candidate, 1});
      std::vector<Settings> all = settingsOf(candidate, bounds, search);
      EXPECT_EQ(bound.isPossible, !all.empty());
      for (const Settings &settings : all) {
        candidate.settings = settings;
        expectBounds(trial, space, bounds, *evaluator, candidate);
      }
    }
  }

  /// Checks the bound against the best settings, and the bytes against each.
  void expectBounds(const Trial &trial, const Space &space,
                    const Bounds &bounds, Evaluator &evaluator,
                    const Candidate &candidate) {
    Evaluation each = evaluator.evaluate(candidate);
    if (!each.isLegal())
      return;
    ++(candidate.hasStages() ? totals.staged : totals.legal);
    Bound bound = bounds.of({candidate, 1});
    std::string text = subscriptText(candidate, space.program()) + " " +
                       settingsText(candidate.settings);
    EXPECT_LE(bound.seconds, each.seconds * (1 + 1e-9)) << text;
    EXPECT_LE(bounds.bytesWith({candidate, 1}, candidate.settings),
              each.memory.total)
        << text;
    expectOuterBounds(bounds, candidate, each.seconds, text);
    totals.above += bound.seconds > each.seconds * (1 + 1e-9);
    totals.tightness += bound.seconds / each.seconds;
    if (trial.overlaps())
      expectSerialBounds(evaluator.evaluateSerially(candidate), each, text);
  }

  /// Checks the bounds of the nodes that have only the outer axes of a leaf.
  static void expectOuterBounds(const Bounds &bounds, const Candidate &leaf,
                                double seconds, const std::string &text) {
    SpaceNode node = {leaf, 1};
    while (!node.candidate.axes.empty()) {
      node.remaining *= node.candidate.axes.back().size;
      node.candidate.axes.pop_back();
      EXPECT_LE(bounds.of(node).seconds, seconds * (1 + 1e-9))
          << text << " with its " << node.candidate.axes.size()
          << " outer axes";
    }
  }

  /// Checks that the step without overlap bounds the overlapped step from both
  /// sides.
  void expectSerialBounds(const Evaluation &serial, const Evaluation &each,
                          const std::string &text) {
    if (serial.isComposed)
      return; // `each` is the whole program's.
    EXPECT_LE(serial.busiestSeconds(), each.seconds * (1 + 1e-9)) << text;
    EXPECT_LE(each.seconds, serial.seconds * (1 + 1e-9)) << text;
    SearchOptions search;
    search.overlapMemory = mostAdded;
    EXPECT_LE(double(each.memory.total),
              double(serial.memory.total) * (1 + search.overlapMemory))
        << text;
  }

  /// Returns limits with which all plans fit, half of them, or hardly any. With
  /// some the best or the smallest plan fits, or misses by a byte.
  static std::vector<int64_t> limitsOf(const Known &known) {
    std::vector<int64_t> totals;
    for (const auto &[text, each] : known)
      if (each.isLegal())
        totals.push_back(each.memory.total);
    if (totals.empty())
      return {};
    llvm::sort(totals);
    const Evaluation *best = nullptr;
    for (const auto &[text, each] : known)
      if (each.isLegal() && (!best || each.seconds < best->seconds))
        best = &each;
    return {totals.back(),      totals[totals.size() / 2],
            totals.front(),     totals.front() - 1,
            best->memory.total, best->memory.total - 1};
  }

  void expectSearchFinds(const Trial &trial, const Space &space,
                         const Bounds &bounds, const Bounds &serialBounds,
                         Known &known, int64_t limit) {
    SearchOptions options = searchOptions(trial, space.program());
    options.serialBounds = &serialBounds;
    options.memoryLimit = limit;
    std::optional<Evaluation> expected =
        bestOf(space, bounds, options, *remembering(trial, space, known)());
    SearchResult result =
        search(space, bounds, remembering(trial, space, known), {}, options,
               [](const SearchState &) {});
    const Evaluation *best = result.best(limit);
    ASSERT_EQ(best != nullptr, expected.has_value());
    totals.evaluated += result.state.evaluations;
    totals.limits += 1;
    if (!best)
      return;
    EXPECT_LE(best->memory.total, limit);
    EXPECT_LE(best->seconds, expected->seconds)
        << subscriptText(best->candidate, space.program()) << " instead of "
        << subscriptText(expected->candidate, space.program());
  }

  /// Returns the best of all candidates, each with the settings that the search
  /// tries.
  std::optional<Evaluation> bestOf(const Space &space, const Bounds &bounds,
                                   const SearchOptions &options,
                                   Evaluator &evaluator) {
    std::optional<Evaluation> best;
    int64_t evaluations = 0;
    for (const Candidate &candidate : space.leaves()) {
      if (settingsOf(candidate, bounds, options).empty())
        continue;
      std::vector<Settings> settings =
          bounds
              .settingsToTry(candidate, all(candidate, options),
                             options.memoryLimit)
              .settings;
      Evaluation each = evaluateWithSettings(
          [&](const Candidate &c) { return evaluator.evaluate(c); }, candidate,
          settings, options.memoryLimit, evaluations);
      if (each.isLegal() && each.memory.total <= options.memoryLimit &&
          (!best ||
           comesBefore(each, *best, options.memoryLimit, space.program())))
        best = each;
    }
    return best;
  }

  void TearDown() override {
    if (totals.legal > 0)
      std::printf("%lld programs, %lld candidates, %lld legal, %lld with "
                  "stages and their settings, %lld bounds above, mean bound "
                  "%.2f of the time; %lld searches "
                  "evaluated %lld of %lld\n",
                  (long long)totals.programs, (long long)totals.candidates,
                  (long long)totals.legal, (long long)totals.staged,
                  (long long)totals.above,
                  totals.tightness / double(totals.legal + totals.staged),
                  (long long)totals.limits, (long long)totals.evaluated,
                  (long long)(6 * totals.candidates));
  }

  /// The share of memory that overlap may add, by the option's default.
  const double mostAdded = CompileOptions().overlapMemory;
  mlir::MLIRContext context;
  Totals totals;
};

TEST_F(PlannerExactness, Examples) {
  Trial trial;
  trial.options.program.forgetsPlacements = true;
  bool isAll = trials() > 0;
  std::vector<std::string> names = {"mlp-sp", "moe-ep"};
  if (isAll) {
    names.clear();
    for (const auto &entry : std::filesystem::directory_iterator(TPSP_EXAMPLES))
      if (entry.path().extension() == ".mlir")
        names.push_back(entry.path().stem());
    llvm::sort(names);
  }
  for (auto [number, name] : llvm::enumerate(names)) {
    trial.options.path = example(name);
    trial.options.compile = compileOptions(/*isGpu=*/number % 2 == 0);
    trial.options.compile.overlap = number % 4 == 0 && isAll ? "on" : "off";
    trial.options.compile.optimizer =
        number % 3 == 1 && isAll ? "adamw" : "none";
    trial.devices = isAll ? 8 : 4;
    trial.maxAxes = name == "moe-ep" && !isAll ? 1 : 2;
    check(trial);
  }
}

TEST_F(PlannerExactness, RandomPrograms) {
  Trial trial;
  int count = trials() > 0 ? trials() : 8;
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("planner", "mlir", path));
  for (int seed = 0; seed < count; ++seed) {
    std::ofstream(path.c_str()) << randomModel(unsigned(seed));
    SCOPED_TRACE(seed);
    trial.options.path = path.str().str();
    bool isGpu = seed % 2 == 0;
    trial.options.compile =
        compileOptions(isGpu, /*inSmallNodes=*/isGpu && seed % 8 > 3);
    trial.options.compile.overlap = seed % 4 == 0 ? "on" : "off";
    trial.options.compile.optimizer = seed % 3 == 0 ? "adamw" : "none";
    trial.devices = std::vector<int64_t>{2, 4, 3, 8, 6}[size_t(seed % 5)];
    check(trial);
  }
  std::filesystem::remove(path.c_str());
}

// Times between nodes from tables that no model would make. Overlap is off:
// with it, the search takes for granted that the pieces of a collective take no
// less time than the whole. The permutes of a gather are such pieces.
TEST_F(PlannerExactness, MeasuredLinks) {
  Trial trial;
  int count = trials() > 0 ? trials() / 2 : 4;
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("links", "mlir", path));
  std::string machine = testing::TempDir() + "/random-links.json";
  for (int seed = 0; seed < count; ++seed) {
    std::ofstream(path.c_str()) << randomModel(unsigned(seed));
    SCOPED_TRACE(seed);
    std::ofstream(machine) << toJson(randomLinks(unsigned(seed), 2),
                                     "h100-sxm-cluster");
    trial.options.path = path.str().str();
    trial.options.compile = compileOptions(/*isGpu=*/true);
    trial.options.compile.hardware = machine;
    trial.options.compile.overlap = "off";
    trial.devices = std::vector<int64_t>{4, 8, 6}[size_t(seed % 3)];
    check(trial);
  }
  std::filesystem::remove(path.c_str());
  std::filesystem::remove(machine);
  EXPECT_GT(totals.legal, 50);
}

/// A program that is nearly all attention.
static std::string longAttention(int heads) {
  return "tpsp.program bf16 <b = 1, s = 49152, t = s, h = " +
         std::to_string(heads) + R"mlir(, k = 128, d = 64> {
func @f(%x: [b, s, d, ?], param %wq, %wk, %wv: [h, k, d, ?],
        param %wo: [d, h, k, ?]) -> [b, s, d, ?] {
  %q = einsum %wq, %x -> [b, s, h, k, ?]
  %k = einsum %wk, %x -> [b, s, h, k, ?]
  %v = einsum %wv, %x -> [b, s, h, k, ?]
  %kt = rename %k -> [b, t, h, k, ?]
  %vt = rename %v -> [b, t, h, k, ?]
  %o = attention %q, %kt, %vt {query = "s", key = "t", feature = "k", causal}
  %y = einsum %wo, %o -> [b, s, d, ?]
  return %y
}
}
)mlir";
}

/// Ranks that divide queries have equal work, or the last one has most. Axes
/// may divide four heads within attention, and not three.
TEST_F(PlannerExactness, LongCausalAttention) {
  Trial trial;
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("long", "mlir", path));
  trial.options.path = path.str().str();
  for (int heads : {3, 4}) {
    std::ofstream(path.c_str()) << longAttention(heads);
    for (const char *balance : {"off", "time", "on"})
      for (const char *overlap : {"off", "on"}) {
        SCOPED_TRACE(std::to_string(heads) + " heads, balance " + balance +
                     ", overlap " + overlap);
        trial.options.compile = compileOptions(/*isGpu=*/true);
        trial.options.compile.balanceAttention = balance;
        trial.options.compile.overlap = overlap;
        check(trial);
      }
  }
  std::filesystem::remove(path.c_str());
  EXPECT_EQ(totals.programs, 12);
  EXPECT_GT(totals.tightness, 0.6 * double(totals.legal));
}

// Stages divide layers, evenly or not.
TEST_F(PlannerExactness, Stages) {
  Trial trial;
  int count = trials() > 0 ? trials() / 4 : 3;
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("stages", "mlir", path));
  for (int seed = 0; seed < count; ++seed) {
    if (onlySeed() >= 0 && seed != onlySeed())
      continue;
    std::ofstream(path.c_str()) << randomLayers(
        unsigned(seed), /*layers=*/seed % 2 == 0 ? 4 + seed : 2 + seed % 4,
        /*isLarge=*/seed % 4 != 1);
    SCOPED_TRACE(seed);
    trial.options.path = path.str().str();
    bool isGpu = seed % 2 == 0;
    trial.options.compile =
        compileOptions(isGpu, /*inSmallNodes=*/isGpu && seed % 8 > 3);
    trial.options.compile.overlap =
        seed % 4 == 3 || seed % 3 == 2 ? "on" : "off";
    trial.options.compile.optimizer = seed % 3 == 0 ? "adamw" : "none";
    trial.maxAxes = trials() > 0 || seed == 0 ? 2 : 1;
    trial.schedule =
        std::vector<std::string>{"1f1b", "zero-bubble", "gpipe"}[seed % 3];
    trial.devices = std::vector<int64_t>{4, 2, 4, 3, 8}[size_t(seed % 5)];
    check(trial);
  }
  std::filesystem::remove(path.c_str());
  EXPECT_GT(totals.staged, 15);
}

} // namespace
