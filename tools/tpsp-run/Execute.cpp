#include "Execute.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/Driver/Inputs.h"
#include "tpsp/Runtime/Driver/StepText.h"
#include "tpsp/Runtime/Driver/Weights.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <malloc.h>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

/// Where the arguments end: everything behind is computed.
static int64_t endOfArguments(const Plan &plan) {
  int64_t end = 0;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument())
      end = std::max(end, *tensor.offset + tensor.bytes);
  return end;
}

/// Fills everything but the arguments with ones, which are a NaN in every
/// floating-point type.
static rt::Status poisonResults(rt::Rank &rank, const Plan &plan) {
  int64_t begin = endOfArguments(plan), end = plan.arenaBytes;
  if (begin >= end)
    return {};
  if (void *memory = rank.hostAddress(begin)) {
    std::memset(memory, 0xff, end - begin);
    return {};
  }
  const std::vector<char> ones(std::min<int64_t>(end - begin, 16 << 20), -1);
  for (int64_t at = begin, some = 0; at < end; at += some) {
    some = std::min(end - at, int64_t(ones.size()));
    if (rt::Status s = rank.write(at, ones.data(), some); !s.ok())
      return s;
  }
  return {};
}

rt::Status tpsp::run::openSource(const Options &options, const Plan &plan,
                                 std::unique_ptr<rt::TensorSource> &source,
                                 std::string &warning) {
  auto inputs = std::make_unique<rt::InputsSource>();
  if (rt::Status s = inputs->open(options.inputs, plan); !s.ok())
    return s;
  source = std::make_unique<rt::RandomSource>(options.seed);
  if (!options.weights.empty()) {
    auto weights = std::make_unique<rt::WeightsSource>(std::move(source));
    if (rt::Status s =
            weights->open(options.weights, plan, warning, inputs->given());
        !s.ok())
      return s;
    source = std::move(weights);
  }
  inputs->setOthers(std::move(source));
  source = std::move(inputs);
  return {};
}

/// A hash of what processes must have in common to run together: the program,
/// what its arguments are filled with, and what all of them take part in.
static uint64_t planHash(const Options &options, const Program &program) {
  const Plan &plan = program.plan();
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {}", program.description.modelHash,
      program.description.dtype, plan.program, plan.commands.size(),
      plan.matmulFlops(), options.steps, options.seed, options.verify,
      options.weights.empty(), options.inputs.size(), options.save.empty(),
      options.saveAll.empty());
  for (const PlanBuffer &tensor : plan.tensors())
    text += fmt::format(" {} {} {}", tensor.name, tensor.subscripts,
                        *tensor.offset);
  for (const LedgerRow &row : plan.ledger)
    text += fmt::format(" {} {}", row.kind, row.bytes);
  return XXH3_64bits(text.data(), text.size());
}

/// Whether commands are observed: a step that is replayed as a whole says
/// nothing of them.
static bool isObserved(const Options &options) {
  return options.backend != "cuda" || options.graph == "off" ||
         !options.trace.empty() || !options.timeline.empty();
}

rt::Status tpsp::run::prepare(const Options &options, const Program &program,
                              const rt::TensorSource &source,
                              rt::CommandObserver *observer, StepClock &clock,
                              rt::Transport *transport,
                              std::unique_ptr<rt::World> &world) {
  const Plan &plan = program.plan();
  if (rt::Status status = rt::loadBackend(options.backend); !status.ok())
    return status;
  // oneDNN packs its operands into buffers of a few MiB for every product. By
  // default glibc keeps them in every thread's own pool, which is not in the
  // plan. That is 300 MiB for a layer of Llama 8B on four ranks. Give them
  // back.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  rt::WorldConfig config;
  config.backend = options.backend;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.arenaConsumers = rt::largestConsumers(plan);
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  config.threadsPerRank = int(options.threads);
  config.timeoutSeconds = options.timeout;
  config.observer = isObserved(options) ? observer : nullptr;
  config.cuda.graphs = options.graph == "on"    ? rt::GraphUse::On
                       : options.graph == "off" ? rt::GraphUse::Off
                                                : rt::GraphUse::Auto;
  config.cuda.replayed = [&clock](int64_t rank, double seconds) {
    clock.ranOnGpu(rank, seconds);
  };
  config.cuda.ncclAlways = options.ncclAlways;
  config.transport = transport;
  config.planHash = planHash(options, program);
  if (rt::Status status = rt::World::create(config, world); !status.ok())
    return status;
  if (options.backend == "trace")
    return {};
  return world->run([&](rt::Rank &rank) {
    if (rt::Status s = rt::fillArguments(rank, source, plan); !s.ok())
      return s;
    return options.verify ? poisonResults(rank, plan) : rt::Status();
  });
}

rt::Status tpsp::run::runSteps(const Options &options, const Program &program,
                               rt::World &world, rt::Timeline &timeline,
                               StepClock &clock, Progress &progress,
                               rt::RunReport &report) {
  auto step = [&](rt::Rank &rank) {
    clock.begin(rank.number());
    rt::Status status = rank.step(program.step);
    if (status.ok())
      status = rank.synchronize();
    clock.end(rank.number());
    return status;
  };
  for (int number = 0; number < options.steps; ++number) {
    progress.phase(fmt::format("step {} of {}", number + 1, options.steps));
    timeline.begin();
    if (rt::Status status = world.run(step); !status.ok())
      return status;
    report.stepSeconds.push_back(clock.seconds());
    if (double seconds = clock.gpuSeconds(); seconds > 0)
      report.gpuSeconds.push_back(seconds);
  }
  return {};
}

StepTrace tpsp::run::recordedTrace(const Program &program,
                                   const rt::Timeline &timeline,
                                   const Options &options) {
  StepTrace trace =
      namedTrace(program.description, "measured on " + options.backend);
  if (!isObserved(options)) {
    trace.ranks.clear();
    return trace;
  }
  timeline.fill(trace);
  fillCounters(trace);
  return trace;
}
