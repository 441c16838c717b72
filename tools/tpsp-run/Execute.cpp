#include "Execute.h"

#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/Driver/MemoryUse.h"
#include "tpsp/Runtime/Driver/Weights.h"
#include "tpsp/Runtime/ElementType.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <malloc.h>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

double tpsp::run::toleranceOf(const rt::Manifest &manifest) {
  // A value has been rounded a few times on its way.
  constexpr double roundings = 5.12;
  double tolerance = 1e-5;
  for (const rt::ManifestTensor &tensor : manifest.tensors)
    if (const rt::HalfFloat *half = rt::halfFloat(tensor.dtype))
      tolerance = std::max(tolerance, roundings * half->epsilon);
  return tolerance;
}

/// Where the arguments end: everything behind is computed.
static int64_t endOfArguments(const rt::Manifest &manifest) {
  int64_t end = 0;
  for (const rt::ManifestTensor &tensor : manifest.tensors)
    if (tensor.isArgument())
      end = std::max(end, tensor.offset + tensor.bytes);
  return end;
}

/// A rank's part of an argument. Of a sum, the first rank along the pending
/// axes has all and the others nothing.
static rt::Status fillArgument(const rt::Rank &rank,
                               const rt::TensorSource &source,
                               const rt::Manifest &manifest,
                               const rt::ManifestTensor &tensor, void *memory) {
  bool isFirst =
      std::all_of(tensor.pending.begin(), tensor.pending.end(),
                  [&](int64_t axis) { return rank.coordinate(axis) == 0; });
  if (!isFirst && !tensor.pendingMax) {
    std::memset(memory, 0, tensor.bytes);
    return {};
  }
  rt::Shard shard(tensor, manifest.mesh, rank.coordinates());
  return source.fill(tensor, shard, memory);
}

/// Fills everything but the arguments with ones, which are a NaN in every
/// floating-point type.
static rt::Status poisonResults(rt::Rank &rank, const rt::Manifest &manifest) {
  int64_t begin = endOfArguments(manifest), end = manifest.arenaBytes;
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

static rt::Status fillArguments(rt::Rank &rank, const rt::TensorSource &source,
                                const rt::Manifest &manifest, bool poison) {
  std::vector<char> copy;
  for (const rt::ManifestTensor &tensor : manifest.tensors) {
    if (!tensor.isArgument())
      continue;
    if (void *memory = rank.hostAddress(tensor.offset)) {
      if (rt::Status s = fillArgument(rank, source, manifest, tensor, memory);
          !s.ok())
        return s;
      continue;
    }
    copy.resize(tensor.bytes);
    if (rt::Status s =
            fillArgument(rank, source, manifest, tensor, copy.data());
        !s.ok())
      return s;
    if (rt::Status s = rank.write(tensor.offset, copy.data(), tensor.bytes);
        !s.ok())
      return s;
  }
  return poison ? poisonResults(rank, manifest) : rt::Status();
}

rt::Status tpsp::run::openSource(const Options &options,
                                 const rt::Manifest &manifest,
                                 std::unique_ptr<rt::TensorSource> &source,
                                 std::string &warning) {
  source = std::make_unique<rt::RandomSource>(options.seed);
  if (options.weights.empty())
    return {};
  auto weights = std::make_unique<rt::WeightsSource>(std::move(source));
  rt::Status status = weights->open(options.weights, manifest, warning);
  source = std::move(weights);
  return status;
}

/// Of what processes must have in common to run together: the program, what its
/// arguments are filled with, and what all of them take part in.
static uint64_t planHash(const Options &options, const Program &program) {
  const rt::Manifest &manifest = program.manifest();
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {}", program.description.modelHash,
      program.description.dtype, manifest.program, manifest.commands,
      manifest.matmulFlops, options.steps, options.seed, options.verify,
      options.weights.empty(), options.save.empty(), options.saveAll.empty());
  for (const rt::ManifestTensor &tensor : manifest.tensors)
    text +=
        fmt::format(" {} {} {}", tensor.name, tensor.subscripts, tensor.offset);
  for (const rt::ManifestCollective &row : manifest.collectives)
    text += fmt::format(" {} {}", row.kind, row.bytes);
  return XXH3_64bits(text.data(), text.size());
}

/// Of a step that is replayed as a whole nothing is told.
static bool isObserved(const Options &options) {
  return options.backend != "cuda" || options.graph == "off" ||
         !options.trace.empty() || !options.timeline.empty();
}

rt::Status tpsp::run::prepare(const Options &options, const Program &program,
                              const rt::TensorSource &source,
                              rt::CommandObserver *observer, StepClock &clock,
                              rt::Transport *transport,
                              std::unique_ptr<rt::World> &world) {
  const rt::Manifest &manifest = program.manifest();
  if (rt::Status status = rt::loadBackend(options.backend); !status.ok())
    return status;
  // oneDNN packs its operands into buffers of a few MiB for every product. By
  // default glibc keeps them in every thread's own pool, which is not in the
  // plan: 300 MiB for a layer of Llama 8B on four ranks. Give them back.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  rt::WorldConfig config;
  config.backend = options.backend;
  config.mesh = manifest.mesh;
  config.arenaBytes = manifest.arenaBytes;
  config.arenaConsumers = rt::largestConsumers(program.description.trace);
  config.numStreams = manifest.streams;
  config.numEvents = manifest.events;
  config.threadsPerRank = options.threads;
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
    return fillArguments(rank, source, manifest, /*poison=*/options.verify);
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

rt::StepTrace tpsp::run::recordedTrace(const Program &program,
                                       const rt::Timeline &timeline,
                                       const Options &options) {
  rt::StepTrace trace =
      namedTrace(program.description, "measured on " + options.backend);
  if (!isObserved(options)) {
    trace.ranks.clear();
    return trace;
  }
  timeline.fill(trace);
  rt::fillCounters(trace);
  return trace;
}

/// Which value of the reference a result is. Results carry their number in the
/// function: the plan lists buffers in the order in which they are made.
static size_t valueOf(const rt::ManifestTensor &result,
                      const reference::Program &reference) {
  return reference.results[result.number];
}

/// The results; `choices`: those, or those not, that are decided by comparing
/// numbers.
static std::vector<const rt::ManifestTensor *> resultsOf(const Program &program,
                                                         bool choices) {
  const reference::Program &reference = program.description.reference;
  std::vector<const rt::ManifestTensor *> results;
  for (const rt::ManifestTensor &tensor : program.manifest().tensors)
    if (!tensor.isArgument() &&
        reference::isChoice(reference, valueOf(tensor, reference)) == choices)
      results.push_back(&tensor);
  return results;
}

/// Compares the results with their whole values.
static rt::Status compareResults(const Program &program, rt::World &world,
                                 const std::vector<reference::Tensor> &values,
                                 std::vector<rt::TensorError> &errors) {
  static const std::vector<double> none;
  for (const rt::ManifestTensor *tensor : resultsOf(program, false)) {
    rt::TensorError error;
    if (rt::Status s = rt::compareTensor(
            world, program.manifest(), *tensor,
            values.empty() ? none : values[tensor->number].data, error);
        !s.ok())
      return s;
    errors.push_back(error);
  }
  rt::rescaleZeros(errors);
  return {};
}

/// What the run decided by comparing numbers.
static rt::Status takenChoices(const Program &program, rt::World &world,
                               std::vector<reference::Choice> &choices) {
  const reference::Program &reference = program.description.reference;
  for (const rt::ManifestTensor *tensor : resultsOf(program, true)) {
    reference::Choice choice;
    choice.value = valueOf(*tensor, reference);
    const reference::ValueType &type = reference.values[choice.value];
    choice.taken = {type.indices, type.shape, {}};
    if (rt::Status s = rt::gatherTensor(world, program.manifest(), *tensor,
                                        choice.taken.data);
        !s.ok())
      return s;
    choices.push_back(std::move(choice));
  }
  return {};
}

/// A choice is as wrong as it falls short of the best; but where ranks that
/// hold the same differ, nothing is right.
static rt::Status compareChoices(const Program &program, rt::World &world,
                                 const std::vector<reference::Choice> &choices,
                                 std::vector<rt::TensorError> &errors) {
  auto results = resultsOf(program, true);
  for (size_t i = 0; i < results.size(); ++i) {
    rt::TensorError error;
    if (rt::Status s = rt::compareTensor(world, program.manifest(), *results[i],
                                         choices[i].taken.data, error);
        !s.ok())
      return s;
    error.relative = error.maxAbsolute > 0 ? 1 : choices[i].shortfall;
    errors.push_back(error);
  }
  return {};
}

/// The arguments, whole, in the order of the program.
static rt::Status wholeArguments(const Program &program,
                                 const rt::TensorSource &source,
                                 std::vector<reference::Tensor> &out) {
  for (const rt::ManifestTensor &tensor : program.manifest().tensors) {
    if (!tensor.isArgument())
      continue;
    const reference::ValueType &type =
        program.description.reference.values[out.size()];
    std::vector<double> values;
    if (rt::Status s = source.whole(tensor, values); !s.ok())
      return s;
    out.push_back({type.indices, type.shape, std::move(values)});
  }
  return {};
}

/// The unsharded program's results, with the run's choices.
static rt::Status evaluate(const Program &program,
                           const rt::TensorSource &source, Progress &progress,
                           std::vector<reference::Choice> &choices,
                           std::vector<reference::Tensor> &values) {
  progress.phase("reference in f64");
  std::vector<reference::Tensor> arguments;
  if (rt::Status s = wholeArguments(program, source, arguments); !s.ok())
    return s;
  std::vector<const reference::Tensor *> pointers;
  for (const reference::Tensor &argument : arguments)
    pointers.push_back(&argument);
  std::string problem = reference::evaluate(
      program.description.reference, pointers, values,
      [&](size_t done, size_t total) {
        progress.detail(fmt::format("{}/{}", done, total));
      },
      &choices);
  return problem.empty() ? rt::Status() : rt::Status{TPSP_RT_INTERNAL, problem};
}

rt::Status tpsp::run::verify(const Program &program,
                             const rt::TensorSource &source, rt::World &world,
                             Progress &progress,
                             std::vector<rt::TensorError> &errors) {
  std::vector<reference::Choice> choices;
  if (rt::Status s = takenChoices(program, world, choices); !s.ok())
    return s;
  std::vector<reference::Tensor> values;
  if (world.hasFirstRank())
    if (rt::Status s = evaluate(program, source, progress, choices, values);
        !s.ok())
      return s;
  progress.phase("comparing");
  if (rt::Status s = compareResults(program, world, values, errors); !s.ok())
    return s;
  return compareChoices(program, world, choices, errors);
}
