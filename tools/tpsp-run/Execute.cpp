#include "Execute.h"

#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

/// The ranges of a rank's arena that hold no argument, [begin, end) in bytes:
/// everything in them is computed.
static std::vector<std::pair<int64_t, int64_t>>
computedRanges(const rt::Rank &rank, const Plan &plan) {
  std::vector<std::pair<int64_t, int64_t>> arguments, ranges;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument() && tensor.isHeldAt(rank.coordinates()))
      arguments.push_back({*tensor.offset, *tensor.offset + tensor.bytes});
  std::sort(arguments.begin(), arguments.end());
  int64_t begin = 0;
  for (auto [first, last] : arguments) {
    if (first > begin)
      ranges.push_back({begin, first});
    begin = std::max(begin, last);
  }
  ranges.push_back({begin, plan.arenaBytes});
  return ranges;
}

/// Fills everything but the arguments with a byte: 0xff makes a NaN of every
/// floating-point type.
static rt::Status fillResults(rt::Rank &rank, const Plan &plan, int byte) {
  constexpr int64_t most = 16 << 20;
  std::vector<char> staging;
  for (auto [begin, end] : computedRanges(rank, plan))
    for (int64_t at = begin; at < end; at += most) {
      int64_t some = std::min(end - at, most);
      TPSP_TRY(rank.fill(at, some, staging, [&](void *memory) {
        std::memset(memory, byte, some);
        return rt::Status();
      }));
    }
  return {};
}

/// Whether commands are observed. A step that is replayed as a CUDA graph does
/// not report its commands.
static bool isObserved(const Options &options) {
  return options.backend != "cuda" || options.graph == "off" ||
#define PICTURE(field, flag, draw, help) !options.field.empty() ||
#include "tpsp/Runtime/Driver/Pictures/Pictures.def"
#undef PICTURE
         !options.html.empty();
}

rt::Status tpsp::run::prepare(const Options &options, const Program &program,
                              const rt::TensorSource &source,
                              rt::CommandObserver *observer, StepClock &clock,
                              rt::Transport *transport,
                              std::unique_ptr<rt::World> &world) {
  const Plan &plan = program.plan();
  WorldUse use;
  use.observer = isObserved(options) ? observer : nullptr;
  use.clock = &clock;
  use.transport = transport;
  TPSP_TRY(makeWorld(options, program, use, world));
  if (options.backend == "trace")
    return {};
  return world->run(
      [&](rt::Rank &rank) { return rt::fillArguments(rank, source, plan); });
}

rt::Status tpsp::run::poisonResults(const Plan &plan, rt::World &world) {
  constexpr int everyBit = 0xff;
  return world.run(
      [&](rt::Rank &rank) { return fillResults(rank, plan, everyBit); });
}

/// Sets a rank's step number to `later` more than the first step's.
static rt::Status setStepNumber(rt::Rank &rank, const Plan &plan,
                                const rt::TensorSource &source, int later) {
  std::vector<char> staging;
  std::vector<double> first;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (!tensor.isStepNumber() || !tensor.isHeldAt(rank.coordinates()))
      continue;
    TPSP_TRY(source.whole(tensor, first));
    TPSP_TRY(rank.fill(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      rt::storeFloat(first.front() + later, tensor.dtype, at, 0);
      return rt::Status();
    }));
  }
  return {};
}

rt::Status tpsp::run::runSteps(const Options &options, const Program &program,
                               const rt::TensorSource &source, rt::World &world,
                               rt::Timeline &timeline, StepClock &clock,
                               Progress &progress, rt::RunReport &report) {
  int number = 0;
  auto step = [&](rt::Rank &rank) {
    if (number > 0)
      TPSP_TRY(setStepNumber(rank, program.plan(), source, number));
    clock.begin(rank.number());
    rt::Status status = rank.step(program.step, program.plan());
    if (status.ok())
      status = rank.synchronize();
    clock.end(rank.number());
    return status;
  };
  for (; number < options.steps; ++number) {
    progress.phase(fmt::format("step {} of {}", number + 1, options.steps));
    timeline.begin();
    TPSP_TRY(world.run(step));
    report.stepSeconds.push_back(clock.seconds());
    if (double seconds = clock.gpuSeconds(); seconds > 0)
      report.gpuSeconds.push_back(seconds);
  }
  return {};
}

rt::Status tpsp::run::findNotFinite(const Options &options,
                                    const Program &program,
                                    const rt::TensorSource &source,
                                    rt::World &world, rt::Timeline &timeline,
                                    rt::NotFiniteWatch &watch,
                                    std::vector<std::string> &sources) {
  const Plan &plan = program.plan();
  TPSP_TRY(world.run([&](rt::Rank &rank) {
    TPSP_TRY(rt::fillArguments(rank, source, plan));
    return fillResults(rank, plan, 0);
  }));
  if (!watch.begin(world))
    return {};
  for (int number = 0; number < options.steps; ++number) {
    timeline.begin();
    TPSP_TRY(world.run([&](rt::Rank &rank) {
      TPSP_TRY(setStepNumber(rank, plan, source, number));
      TPSP_TRY(rank.step(program.step, plan));
      return rank.synchronize();
    }));
  }
  for (std::string &line : watch.end())
    sources.push_back(std::move(line));
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
  rt::fillCriticalPath(trace);
  return trace;
}
