// tpsp-check names mistakes that are planted in the steps of random programs.
//
//   RandomPrograms --gtest_filter=PlantedChecks.* --planted=2000 --seed=1
#include "Generator.h"
#include "Options.h"

#include "tpsp/Check/Planted.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

using namespace tpsp;
using namespace tpsp::property;
using check::PlantedFate;

namespace {

mlir::DialectRegistry registry() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

/// A random program, compiled, with random arguments.
class CompiledProgram {
public:
  /// Returns false if the program is refused.
  bool compile(mlir::MLIRContext &context, Program program, const char *element,
               uint64_t seed) {
    program.element = element;
    if (options().print)
      std::cout << toText(program) << std::endl;
    CompileOptions flags;
    flags.grad = true;
    flags.bucketBytes = 0;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        toText(program), mlir::ParserConfig(&context), "random.mlir");
    if (!module)
      return false;
    auto compiled = compileModule(std::move(module), "random.mlir", flags,
                                  [](llvm::StringRef) {});
    if (!compiled) {
      llvm::consumeError(compiled.takeError());
      return false;
    }
    model = std::move(*compiled);
    auto made = JitProgram::create(*model.module, model.plan->program,
                                   CodeEffort::Little);
    if (!made) {
      llvm::consumeError(made.takeError());
      return false;
    }
    jit.emplace(std::move(*made));
    description.model = "random.mlir";
    description.plan = model.plan;
    description.reference = model.reference;
    source = std::make_unique<rt::RandomSource>(seed);
    return true;
  }

  check::CheckedProgram checked() const {
    return {description, jit->step, *source};
  }
  int64_t ranks() const { return model.plan->numRanks(); }

private:
  CompiledModel model;
  std::optional<JitProgram> jit;
  rt::PlanDescription description;
  std::unique_ptr<rt::TensorSource> source;
};

/// Counts of planted mistakes by their fate.
class Fates {
public:
  void add(uint64_t seed, const check::PlantedMistakeReport &report) {
    ++counts[size_t(report.fate)];
    bool isFound = report.fate == PlantedFate::Named ||
                   report.fate == PlantedFate::Listed ||
                   report.fate == PlantedFate::Invisible;
    if (!isFound || report.mistake == "none")
      std::cout << "seed " << seed << ", " << nameOf(report.fate) << ": "
                << report.mistake << "\n  said: " << report.said << std::endl;
    if (!isFound && report.mistake == "none")
      ADD_FAILURE() << "seed " << seed << ": a right run is called wrong";
  }

  uint64_t of(PlantedFate fate) const { return counts[size_t(fate)]; }
  /// The mistakes that numbers show.
  uint64_t visible() const { return all() - of(PlantedFate::Invisible); }
  uint64_t all() const {
    uint64_t sum = 0;
    for (uint64_t count : counts)
      sum += count;
    return sum;
  }
  uint64_t named() const {
    return of(PlantedFate::Named) + of(PlantedFate::Listed);
  }

  void print(uint64_t programs) const {
    std::cout << all() << " mistakes in " << programs << " programs:";
    for (size_t i = 0; i < counts.size(); ++i)
      std::cout << " " << counts[i] << " " << nameOf(PlantedFate(i));
    std::cout << std::endl;
  }

private:
  std::array<uint64_t, std::size(EnumNames<PlantedFate>::all)> counts{};
};

/// Plants mistakes in one program. Returns false if it is of no use: refused,
/// or on one rank.
bool plantIn(uint64_t seed, Fates &fates) {
  constexpr unsigned mostOperations = 6;
  Program program = generateLegal(seed, mostOperations);
  program.pipeline = {};
  program.grad = true;
  mlir::MLIRContext context(registry(), mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  CompiledProgram exact, run;
  if (!exact.compile(context, program, "f64", seed) || exact.ranks() < 2 ||
      !run.compile(context, program, "f32", seed))
    return false;
  check::CheckSettings settings;
  settings.predictor.threads = 1;
  std::unique_ptr<check::NumbersChecker> checker;
  rt::Status status =
      check::NumbersChecker::create(exact.checked(), settings, checker);
  std::vector<check::PlantedMistakeReport> reports;
  constexpr int64_t perProgram = 4;
  if (status.ok())
    status = check::plantMistakes(run.checked(), settings.predictor, *checker,
                                  perProgram, seed, reports);
  if (!status.ok()) {
    ADD_FAILURE() << "seed " << seed << ": " << status.message();
    return false;
  }
  for (const check::PlantedMistakeReport &report : reports) {
    fates.add(seed, report);
    if (options().print)
      std::cout << seed << ": " << nameOf(report.fate) << ": " << report.mistake
                << "; said: " << report.said << std::endl;
  }
  return true;
}

} // namespace

TEST(PlantedChecks, AreNamedAndNeverCalledRight) {
  rt::registerBuiltinBackends();
  Fates fates;
  uint64_t programs = 0, seed = options().seed;
  std::cout << "seeds from " << seed << "\n";
  // Many programs are on one rank, or have no collective.
  uint64_t last = seed + 20 * options().planted;
  for (; fates.visible() < options().planted && seed < last; ++seed)
    programs += plantIn(seed, fates);
  fates.print(programs);
  EXPECT_GE(fates.visible(), options().planted);
  EXPECT_EQ(fates.of(PlantedFate::Missed), 0u);
  EXPECT_GE(double(fates.named()), 0.98 * double(fates.visible()));
}
