#include "CommandTimes.h"

#include "CallTimes.h"

#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// Records every command's seconds, by rank and command.
class CommandClock final : public rt::CommandObserver {
public:
  CommandClock(int64_t ranks, int64_t commands)
      : samples(ranks, std::vector<std::vector<double>>(commands)) {}

  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override {
    samples[rank][command.id].push_back(
        std::chrono::duration<double>(end - begin).count());
  }

  double secondsOf(int64_t command) const {
    double sum = 0;
    for (const auto &rank : samples)
      sum += rank[command].empty() ? 0 : lowerQuartile(rank[command]);
    return sum / double(samples.size());
  }
  void forget() {
    for (auto &rank : samples)
      for (auto &command : rank)
        command.clear();
  }

private:
  std::vector<std::vector<std::vector<double>>> samples;
};

} // namespace

static llvm::Expected<CompiledModel> compile(mlir::MLIRContext &context,
                                             llvm::StringRef text, bool grad) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("a program of the calibration is malformed");
  CompileOptions options;
  options.grad = grad;
  return compileModule(std::move(module), "calibration", options,
                       [](llvm::StringRef) {});
}

static rt::Status runSteps(rt::World &world, const JitProgram &program,
                           const Plan &plan, int steps) {
  for (int step = 0; step < steps; ++step)
    TPSP_TRY(world.run(
        [&](rt::Rank &rank) { return rank.step(program.step, plan); }));
  return {};
}

static llvm::Expected<std::vector<TimedCommand>> timed(llvm::StringRef text,
                                                       bool grad, int steps) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<CompiledModel> model = compile(context, text, grad);
  if (!model)
    return model.takeError();
  const Plan &plan = *model->plan;
  auto program = JitProgram::create(*model->module, plan.program);
  if (!program)
    return program.takeError();

  rt::registerBuiltinBackends();
  CommandClock clock(plan.numRanks(), plan.commands.size());
  rt::WorldConfig config;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.threadsPerRank = 1;
  config.observer = &clock;
  std::unique_ptr<rt::World> world;
  rt::Status status = rt::World::create(config, world);
  // Arguments are random, because arithmetic with zeros and denormals takes
  // other times.
  const rt::RandomSource random(/*seed=*/0);
  if (status.ok())
    status = world->run(
        [&](rt::Rank &rank) { return rt::fillArguments(rank, random, plan); });
  if (status.ok())
    status =
        runSteps(*world, *program, plan, 2); // fills the caches of later steps
  clock.forget();
  if (status.ok())
    status = runSteps(*world, *program, plan, steps);
  if (!status.ok())
    return llvm::createStringError(status.message());

  std::vector<TimedCommand> timed;
  for (size_t i = 0; i < plan.commands.size(); ++i)
    timed.push_back({plan.commands[i], clock.secondsOf(i)});
  return timed;
}

std::vector<TimedCommand>
tpsp::calibration::timeCommands(Measurement &measurement,
                                const std::string &text, bool grad, int steps) {
  if (measurement.hasFailed())
    return {};
  auto commands = timed(text, grad, steps);
  if (commands)
    return std::move(*commands);
  measurement.fail(llvm::toString(commands.takeError()));
  return {};
}
