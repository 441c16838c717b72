// tpsp-train: trains a model, which it compiles, or a compiled plan.
#include "RunSettings.h"
#include "Sample.h"

#include "common/Compile.h"
#include "common/Launch.h"
#include "common/MakeWorld.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Runtime/Train/InitialValues.h"
#include "tpsp/Runtime/Train/RunLock.h"
#include "tpsp/Runtime/Train/Trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::train;

namespace fs = std::filesystem;

static volatile std::sig_atomic_t interrupted = 0;

/// The first signal ends the run after its current step, the second at once.
static void interruptGently() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// Returns the element type in which matmuls do most FLOPs.
static int64_t matmulType(const Plan &plan) {
  std::map<int64_t, double> flops;
  for (const PlanCommand &command : plan.commands)
    if (command.kind == CommandKind::Matmul)
      flops[command.dtype] += double(command.matmul.flops());
  auto most =
      std::max_element(flops.begin(), flops.end(), [](auto &one, auto &other) {
        return one.second < other.second;
      });
  return most == flops.end() ? int64_t(TPSP_RT_F32) : most->first;
}

/// Returns the training options that the command line alone decides. Those that
/// depend on the program or the data are set by trainingOptions().
static TrainingOptions optionsOf(const Options &options, int64_t ranks) {
  TrainingOptions out;
  out.steps = options.steps;
  out.rate.schedule = options.schedule;
  out.rate.peak = options.learningRate;
  out.rate.low =
      options.lowRate >= 0 ? options.lowRate : options.learningRate / 10;
  out.rate.steps = options.steps;
  out.rate.warmup = options.warmup >= 0 ? options.warmup : options.steps / 20;
  out.out = options.out;
  out.saveEvery = options.saveEvery;
  out.evalEvery = options.evalEvery;
  out.logEvery = options.logEvery;
  out.keep = options.keep;
  out.plot = options.plot;
  out.maxDropped = options.maxDropped;
  out.peakFlops = options.peakTflops * 1e12 * double(ranks);
  return out;
}

namespace {

/// A program with its ranks. After a failure other processes may still write to
/// the world's memory. So it stays allocated until this process exits (Launch).
struct RunningProgram {
  Program program;
  Arguments arguments;
  std::unique_ptr<rt::World> world;

  const Plan &plan() const { return program.plan(); }
  LoadedProgram loaded() const { return {&plan(), program.step, world.get()}; }
};

/// Prints the size of the program, of its ranks and of the data.
void introduce(const RunningProgram &training, const Batches &data) {
  int64_t parameters = 0;
  for (const PlanBuffer &tensor : training.plan().tensors())
    if (tensor.kind == BufferKind::Parameter)
      parameters += tensor.elements();
  fmt::print("{} on {}, {} of memory each; {}, {} a step ({} x {})\n",
             rt::counted(parameters, "parameter"),
             rt::counted(training.world->numRanks(), "rank"),
             rt::bytesText(training.plan().arenaBytes),
             rt::counted(data.size(), data.unit()), data.tokensPerBatch(),
             data.sequences(), data.length());
}

/// A whole training run, from the parsed command line to the last message.
class Run {
public:
  Run(Options &options, Launch &launch)
      : options(options), launch(launch), progress(options.quiet) {}

  rt::Status carryOut() {
    TPSP_TRY(findPosition());
    if (launch.isFirst())
      TPSP_TRY(prepareOutputs());
    TPSP_TRY(openFiles());
    TPSP_TRY(checkFiles());
    TPSP_TRY(openPrograms());
    TPSP_TRY(openSource(training, loss));
    TPSP_TRY(rt::checkFiles(launch.transport(), training.arguments.files,
                            options.timeout));
    TPSP_TRY(checkTrainable(training.plan(), *training.arguments.source,
                            files.samples));
    TPSP_TRY(checkCheckpoint(training.plan()));
    Batches data, evaluation;
    TPSP_TRY(makeBatches(data, evaluation));
    progress.phase("filling arguments");
    TPSP_TRY(start(training));
    if (evaluates()) {
      TPSP_TRY(openSource(evaluating, evalLoss));
      TPSP_TRY(start(evaluating));
    }
    progress.done();
    auto say = [&](const std::string &line) {
      if (!options.quiet)
        fmt::print("{}\n", line);
      std::fflush(stdout);
    };
    if (!options.quiet)
      introduce(training, data);
    TrainingStep step(training.loaded(), loss, data);
    Trainer trainer(std::move(step), std::move(data),
                    trainingOptions(evaluation), say);
    if (evaluates())
      trainer.evaluateWith(
          {TrainingStep(evaluating.loaded(), evalLoss, evaluation),
           std::move(evaluation)});
    interruptGently();
    TPSP_TRY(trainer.run(position, [] { return interrupted != 0; }));
    if (!options.quiet)
      conclude();
    return {};
  }

private:
  rt::Status findPosition() {
    position.seed = options.seed;
    if (options.resume.empty())
      return {};
    TPSP_TRY(findCheckpoint(options.resume, checkpoint));
    std::string warning;
    TPSP_TRY(readCheckpoint(checkpoint, position, checkpointFiles, warning));
    if (!warning.empty())
      warn(warning);
    if (options.has("seed") && options.seed != position.seed)
      return rt::invalid(
          "'{}' is of a run with --seed {}; leave --seed out, or "
          "begin anew with --weights",
          checkpoint, position.seed);
    TPSP_TRY(checkState(checkpoint, position.settings, options));
    if (position.step >= options.steps)
      warn(
          fmt::format("'{}' is of step {}, and --steps {} is the last: nothing "
                      "is left to do",
                      checkpoint, position.step, options.steps));
    if (options.out.empty())
      options.out = fs::path(checkpoint).parent_path().string();
    return {};
  }

  /// Checks at the beginning that the outputs can be written at the end.
  rt::Status prepareOutputs() {
    rt::WholeFile plot;
    if (!options.plot.empty())
      TPSP_TRY(plot.create(options.plot));
    if (options.out.empty())
      return {};
    if (rt::Status s = lock.take(options.out); s.code() == TPSP_RT_UNSUPPORTED)
      warn(s.message());
    else if (!s.ok())
      return s;
    TPSP_TRY(checkFolder());
    prepareFolder(options.out);
    return {};
  }

  /// Fails if the output folder has checkpoints of a run that is not resumed.
  rt::Status checkFolder() const {
    std::string last;
    std::error_code none;
    if (!hasCheckpoints(options.out))
      return {};
    TPSP_TRY(findCheckpoint(options.out, last));
    if (!checkpoint.empty() && fs::equivalent(last, checkpoint, none))
      return {};
    return rt::invalid(
        "'{}' has checkpoints, the last of them '{}'; go on from "
        "it with --resume {}, or give another --out",
        options.out, last, options.out);
  }

  rt::Status openPrograms() {
    bool speaks = launch.isFirst();
    TPSP_TRY(openProgram(options, {}, speaks, progress, training.program));
    TPSP_TRY(findLoss(training.plan(), options.loss, loss));
    if (speaks && losesGradients(training.plan()))
      warn("parameters are in f16, in which small gradients vanish; give "
           "--loss-scale dynamic, or --dtype bf16");
    if (!evaluates())
      return {};
    Options forward = options;
    forward.grad = false;
    forward.dropout = false;
    // With --gather-parameters forward, the optimizer decides where parameters
    // are. Otherwise they are where the model has them.
    if (options.gatherParameters != "forward")
      forward.optimizer = "none";
    if (options.isPlan)
      forward.model = options.evalPlan;
    TPSP_TRY(openProgram(forward, {}, speaks, progress, evaluating.program));
    if (reference::drops(evaluating.program.description.reference))
      return rt::invalid("'{}' drops at random, and an evaluation drops "
                         "nothing; compile the model for it with --dropout off "
                         "and without --grad",
                         forward.model);
    std::string name = options.loss;
    for (const PlanBuffer &tensor : training.plan().tensors())
      if (tensor.kind == BufferKind::Output && tensor.number == loss)
        name = tensor.name;
    return findLoss(evaluating.plan(), name, evalLoss);
  }

  rt::Status openSource(RunningProgram &running, int64_t lossNumber) {
    const Plan &plan = running.plan();
    Arguments &arguments = running.arguments;
    TPSP_TRY(openArguments(options, plan,
                           std::make_unique<rt::RandomSource>(
                               position.seed, rt::RandomUse::Training),
                           arguments));
    if (!arguments.warning.empty())
      warn(arguments.warning);
    std::unique_ptr<rt::TensorSource> &source = arguments.source;
    if (!checkpoint.empty() && &running == &training)
      TPSP_TRY(openCheckpoint(checkpoint, plan, std::move(source), source));
    source = std::make_unique<InitialValues>(lossNumber, std::move(source));
    return {};
  }

  /// Opens the files of data before anything takes long.
  rt::Status openFiles() {
    TPSP_TRY(DataFiles::open(options.data, options.dataFormat, files));
    TPSP_TRY(DataFiles::open(options.evalData, options.dataFormat, evalFiles));
    if (options.has("separator"))
      files.separator = evalFiles.separator = options.separator;
    if (std::string warning = files.separatorWarning(); !warning.empty())
      warn(warning);
    return {};
  }

  /// Checks that all processes train on the same data from the same checkpoint,
  /// and that the files of the checkpoint belong together.
  rt::Status checkFiles() const {
    std::vector<rt::AgreedFile> all = checkpointFiles;
    for (const std::string &path : files.paths())
      all.push_back({"--data", path, rt::HashedPart::Sample});
    for (const std::string &path : evalFiles.paths())
      all.push_back({"--eval-data", path, rt::HashedPart::Sample});
    return rt::checkFiles(launch.transport(), all, options.timeout);
  }

  rt::Status makeBatches(Batches &data, Batches &evaluation) {
    using Order = Batches::Order;
    TPSP_TRY(Batches::create(std::move(files), training.plan(), Order::Shuffled,
                             position.seed, data));
    followData(data);
    if (!evaluates())
      return {};
    rt::Status status = Batches::create(std::move(evalFiles), evaluating.plan(),
                                        Order::AsStored, 0, evaluation);
    return status.ok()
               ? status
               : rt::Status{status.code(), "--eval-data: " + status.message()};
  }

  rt::Status start(RunningProgram &running) {
    WorldUse use;
    use.transport = launch.transport();
    // The watch cannot read a GPU's memory, and several processes would have to
    // agree on watching.
    if (&running == &training && options.backend == "cpu" && !use.transport) {
      watch = std::make_unique<rt::NotFiniteWatch>(running.plan(), nullptr);
      use.observer = watch.get();
    }
    TPSP_TRY(makeWorld(options, running.program, use, running.world));
    return fill(running);
  }

  static rt::Status fill(RunningProgram &running) {
    return running.world->run([&](rt::Rank &rank) {
      return rt::fillArguments(rank, *running.arguments.source, running.plan());
    });
  }

  /// Gives the ranks the arguments with which training began, and adds a line
  /// for each that is not finite.
  rt::Status restart(std::vector<std::string> &lines) {
    const rt::TensorSource &source = *training.arguments.source;
    for (const PlanBuffer &tensor : training.plan().tensors()) {
      if (!tensor.isArgument() || rt::isInteger(tensor.dtype))
        continue;
      std::vector<double> values;
      TPSP_TRY(source.whole(tensor, values));
      auto count = std::count_if(values.begin(), values.end(),
                                 [](double x) { return !std::isfinite(x); });
      if (count > 0)
        lines.push_back(fmt::format("{}: {} of {} elements are not finite",
                                    tensor.name, count, values.size()));
    }
    return fill(training);
  }

  /// Adapts the position to the data and the options. It counts samples of the
  /// checkpoint's data, whose length may differ.
  void followData(const Batches &data) {
    int64_t tokens = data.size();
    if (!checkpoint.empty() &&
        (position.tokens != tokens || position.length != data.length())) {
      warn(fmt::format("the checkpoint's data had {} {}s in samples of {}, "
                       "this has {} in samples of {}",
                       position.tokens, data.unit(), position.length, tokens,
                       data.length()));
      position.samples = position.samples * position.length / data.length();
    }
    position.tokens = tokens;
    position.length = data.length();
    RunSettings settings =
        settingsOf(options, optionsOf(options, 1).rate, data);
    if (std::string text = differenceOf(position.settings, settings);
        !text.empty())
      warn(fmt::format("'{}' was trained with {}", checkpoint, text));
    position.settings = std::move(settings);
  }

  TrainingOptions trainingOptions(const Batches &evaluation) {
    int64_t ranks = training.world->numRanks();
    TrainingOptions out = optionsOf(options, ranks);
    out.watch = watch.get();
    out.restart = [this](auto &lines) { return restart(lines); };
    if (evaluates())
      out.evalBatches = std::clamp<int64_t>(evaluation.samplesPerEpoch() /
                                                evaluation.sequences(),
                                            1, options.evalBatches);
    if (options.peakTflops == 0 && options.has("hardware"))
      out.peakFlops =
          peakFlops(options, matmulType(training.plan()), ranks) * ranks;
    return out;
  }

  void conclude() const {
    std::string text = fmt::format(
        "{} step {}",
        interrupted ? "interrupted behind" : "done:", position.step);
    std::string last;
    if (!options.out.empty() && findCheckpoint(options.out, last).ok())
      text += fmt::format("; checkpoint in {}; metrics in {}", last,
                          (fs::path(options.out) / "metrics.jsonl").string());
    if (!options.plot.empty())
      text += fmt::format("; curves in {}", options.plot);
    fmt::print("{}\n", text);
  }

  void warn(const std::string &text) const {
    if (!options.quiet)
      fmt::print(stderr, "tpsp-train: warning: {}\n", text);
  }

  bool evaluates() const { return !options.evalData.empty(); }

  Options &options;
  Launch &launch;
  Progress progress;
  TrainingPosition position;
  /// The checkpoint that is resumed; empty if none is.
  std::string checkpoint;
  std::vector<rt::AgreedFile> checkpointFiles;
  /// The lock of the output folder.
  RunLock lock;
  DataFiles files, evalFiles;
  /// Watches the world of `training`, which must not outlive it.
  std::unique_ptr<rt::NotFiniteWatch> watch;
  RunningProgram training, evaluating;
  int64_t loss = 0, evalLoss = 0;
};

} // namespace

static int sampleAndReport(const Options &options, Launch &launch) {
  rt::Status status =
      launch.transport()
          ? rt::invalid("--sample runs in one process, with threads as ranks; "
                        "leave out mpirun")
          : sample(options);
  return status.ok() ? Done : launch.fail(status);
}

static int trainAndReport(Options &options, Launch &launch) {
  if (samples(options))
    return sampleAndReport(options, launch);
  Run run(options, launch);
  rt::Status status = run.carryOut();
  return status.ok() ? Done : launch.fail(status);
}

int main(int argc, char **argv) {
  Launch launch("tpsp-train");
  Options options;
  return launch.run(options, {[&](std::string *said) {
                                return parseOptions(argc, argv, options, said);
                              },
                              [&] { return agreedOptions(options); },
                              [&] { return trainAndReport(options, launch); }});
}
