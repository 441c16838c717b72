// tpsp-run: runs a model, which it compiles, or a compiled plan.
#include "Execute.h"
#include "Options.h"
#include "SizedStates.h"
#include "WithCompiler.h"
#include "common/Compile.h"
#include "common/Launch.h"

#include "tpsp/Abi/Exposure.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Runtime/Driver/Page/Page.h"
#include "tpsp/Runtime/Driver/Pictures/Pictures.h"
#include "tpsp/Runtime/Driver/Report/StepText.h"
#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <tuple>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Opens --weights and --inputs, and checks early that --save and --save-all
/// are possible.
static rt::Status openFiles(const Options &options, const Plan &plan,
                            rt::Transport *transport,
                            std::unique_ptr<rt::TensorSource> &source) {
  using rt::SavedTensors;
  for (auto [path, which] : {std::pair(&options.save, SavedTensors::Parameters),
                             std::pair(&options.saveAll, SavedTensors::All)})
    if (!path->empty())
      TPSP_TRY(rt::checkSavable(plan, which));
  Arguments arguments;
  rt::Status status = openArguments(
      options, plan, std::make_unique<rt::RandomSource>(options.seed),
      arguments);
  if (!arguments.warning.empty() && !options.quiet)
    fmt::print(stderr, "tpsp-run: warning: {}\n", arguments.warning);
  source = std::move(arguments.source);
  return status.ok()
             ? rt::checkFiles(transport, arguments.files, options.timeout)
             : status;
}

/// Writes the pictures of `trace` (Pictures.def). `summaryOf` gives the line
/// about the step.
template <typename SummaryOf>
static rt::Status writePictures(const Options &options, const StepTrace &trace,
                                const SummaryOf &summaryOf) {
#define PICTURE(field, flag, draw, help)                                       \
  if (!options.field.empty())                                                  \
    TPSP_TRY(rt::writeText(options.field, rt::draw(trace, summaryOf())));
#include "tpsp/Runtime/Driver/Pictures/Pictures.def"
#undef PICTURE
  return {};
}

static rt::Status writePictures(const Options &options,
                                const rt::RunReport &report) {
  return writePictures(options, report.trace, [&] {
    return rt::summaryLine(rt::medianStep(report),
                           exposureOf(*report.plan, report.trace.ranks),
                           report.plan->arenaBytes);
  });
}

/// Writes --save and --save-all.
static rt::Status writeTensors(const Options &options, const Plan &plan,
                               rt::World &world) {
  using rt::SavedTensors;
  for (auto [path, which] : {std::pair(&options.save, SavedTensors::Parameters),
                             std::pair(&options.saveAll, SavedTensors::All)})
    if (!path->empty())
      TPSP_TRY(rt::saveTensors(world, plan, *path, which));
  return {};
}

/// Writes `text` to standard output and flushes it, so that a full disk is
/// reported as an error.
static rt::Status say(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  return {TPSP_RT_INTERNAL, std::string("standard output cannot be written: ") +
                                std::strerror(errno)};
}

/// Writes --report and --html, which have the same content.
static rt::Status writeReport(const Options &options,
                              const rt::RunReport &report) {
  if (options.report.empty() && options.html.empty())
    return {};
  std::string json = rt::toJson(report);
  if (!options.report.empty())
    TPSP_TRY(rt::writeText(options.report, json));
  if (options.html.empty())
    return {};
  rt::PageStep step{json, report.trace, report.explanation};
  return rt::writeText(options.html, rt::toPage("", {step}));
}

/// Prints the report as text, and writes --report and --html.
static int print(const Options &options, const rt::RunReport &report,
                 Launch &launch) {
  if (!launch.isFirst())
    return Done;
  if (!options.quiet)
    if (rt::Status s = say(rt::toText(report, options.everyLayer)); !s.ok())
      return launch.fail(s);
  rt::Status status = writeReport(options, report);
  return status.ok() ? Done : launch.fail(status);
}

/// The world and the objects that its threads use. After a failure other
/// processes may still write to the world's memory. So it stays allocated until
/// this process exits (Launch).
struct Run {
  explicit Run(const Plan &plan)
      : timeline(plan), watch(plan, &timeline), clock(plan.numRanks()) {}

  rt::Timeline timeline;
  rt::NotFiniteWatch watch;
  StepClock clock;
  std::unique_ptr<rt::TensorSource> source;
  std::unique_ptr<rt::World> world;
};

/// Whether any result is infinite or a NaN.
static bool hasNotFinite(const rt::RunReport &report) {
  return std::any_of(report.errors.begin(), report.errors.end(),
                     std::mem_fn(&rt::TensorError::hasNotFinite));
}

/// Returns the exit status of a verification.
static int exitOf(const rt::RunReport &report) {
  bool isSeen = std::all_of(report.planted.begin(), report.planted.end(),
                            [](const auto &p) { return p.isSeen; });
  switch (report.verdict()) {
  case rt::Verdict::Passed:
    return isSeen ? Done : Failed;
  case rt::Verdict::NotFinite:
    return NotVerified;
  case rt::Verdict::Failed:
    return Failed;
  }
  return Failed;
}

/// Runs the steps, writes the requested files and verifies the results.
static rt::Status runProgram(const Options &options, const Program &program,
                             Launch &launch, Progress &progress, Run &run,
                             rt::RunReport &report) {
  const Plan &plan = program.plan();
  progress.phase("filling arguments");
  TPSP_TRY(openFiles(options, plan, launch.transport(), run.source));
  SizedStates *states = nullptr;
  if (!options.verify.empty()) {
    auto owned = std::make_unique<SizedStates>(plan, std::move(run.source));
    states = owned.get();
    run.source = std::move(owned);
  }
  TPSP_TRY(prepare(options, program, *run.source, &run.watch, run.clock,
                   launch.transport(), run.world));
  // The arenas are allocated and filled by now, so the memory left is known.
  // The check comes before the steps, for which the user would wait.
  if (!options.verify.empty() && run.world->hasFirstRank())
    TPSP_TRY(rt::checkReferenceMemory(
        program.description.reference,
        "--verify evaluates the unsharded program in f64, which",
        "use smaller shapes (--extent)"));
  if (states && options.backend != "trace") {
    progress.phase("a step, for the size of optimizer states");
    run.timeline.begin();
    TPSP_TRY(states->begin(*run.world, program));
    TPSP_TRY(poisonResults(plan, *run.world));
  }
  if (rt::Status s = runSteps(options, program, *run.source, *run.world,
                              run.timeline, run.clock, progress, report);
      !s.ok() || options.backend == "trace")
    return s;
  report.residentBytes = rt::peakResidentBytes();
  TPSP_TRY(run.world->sumOverProcesses(report.residentBytes));
  report.trace = recordedTrace(program, run.timeline, options);
  TPSP_TRY(rt::readResults(*run.world, plan, *run.source, report.results));
  progress.done();
  TPSP_TRY(writeTensors(options, plan, *run.world));
  if (launch.isFirst())
    TPSP_TRY(writePictures(options, report));
  if (options.verify.empty())
    return {};
  auto begin = Clock::now();
  TPSP_TRY(verify(options, program, *run.source, *run.world, progress, report));
  if (hasNotFinite(report))
    TPSP_TRY(findNotFinite(options, program, *run.source, *run.world,
                           run.timeline, run.watch, report.notFiniteSources));
  report.verifySeconds = secondsSince(begin);
  return {};
}

static int openAndRun(const Options &options, Launch &launch) {
  Progress progress(options.quiet);
  Program program;
  auto begin = Clock::now();
  CompileUse use;
  use.isVerified = !options.verify.empty();
  use.isExplained = !options.html.empty();
  // All processes find the same errors in the model; the first prints them.
  if (rt::Status s = openProgram(options, use, /*speaks=*/launch.isFirst(),
                                 progress, program);
      !s.ok()) {
    progress.done();
    return launch.fail(s);
  }
  rt::RunReport report;
  report.compileSeconds = secondsSince(begin);
  report.plan = program.description.plan;
  report.dtype = program.description.dtype;
  report.explanation = std::move(program.explanation);
  report.backend = options.backend;
  report.acceptsNotFinite = options.acceptNotFinite;
  Run run(program.plan());
  rt::Status status =
      runProgram(options, program, launch, progress, run, report);
  progress.done();
  if (!status.ok())
    return launch.fail(status);
  if (options.backend == "trace") {
    // The backend has printed its calls during the step; flush them.
    rt::Status printed = say("");
    return printed.ok() ? Done : launch.fail(printed);
  }
  if (int code = print(options, report, launch); code != Done)
    return code;
  if (!launch.isFirst())
    return Done;
  if (rt::Status s =
          rt::checkDropped(report.results.dropped, options.maxDropped);
      !s.ok())
    return launch.fail(s);
  if (options.verify.empty())
    return Done;
  int code = exitOf(report);
  if (code != Done && (options.quiet || report.errors.empty()))
    fmt::print(stderr, "{}", rt::verificationText(report));
  return code;
}

/// Returns the exit status of a predicted step, from the bytes that it needs
/// and that the machine has. If the report is not printed, a message says that
/// the step does not fit.
static int fitOf(const Options &options, int64_t needed, int64_t there) {
  if (needed <= there)
    return Done;
  if (options.quiet)
    fmt::print(stderr, "tpsp-run: the step does not fit: {} needed, {} there\n",
               rt::bytesText(double(needed)), rt::bytesText(double(there)));
  return TooLarge;
}

static int predict(const Options &options, Launch &launch) {
  Progress progress(options.quiet);
  rt::RunReport report;
  rt::Status status =
      simulate(options, /*speaks=*/launch.isFirst(), progress, report);
  progress.done();
  if (status.ok())
    status = writePictures(options, report);
  if (!status.ok())
    return launch.fail(status);
  if (int code = print(options, report, launch);
      code != Done || !launch.isFirst())
    return code;
  return fitOf(options, report.prediction->neededBytes,
               report.prediction->memoryBytes);
}

/// Writes the files that are asked for, of a program with stages.
static rt::Status writeStages(const Options &options,
                              const StagesOutput &output) {
  if (!options.saveStageActions.empty())
    TPSP_TRY(rt::writeText(options.saveStageActions, output.actions));
  if (!options.report.empty())
    TPSP_TRY(rt::writeText(options.report, output.json));
  if (!options.html.empty())
    TPSP_TRY(rt::writeText(options.html,
                           rt::toPage("", {{output.json, output.trace, ""}})));
  return writePictures(options, output.trace, [&] {
    return fmt::format("step {}, memory {}", rt::secondsText(output.seconds),
                       rt::bytesText(double(output.bytes)));
  });
}

static int predictStages(const Options &options, Launch &launch) {
  if (!launch.isFirst())
    return Done;
  Progress progress(options.quiet);
  StagesOutput output;
  rt::Status status =
      simulateStages(options, /*speaks=*/true, progress, output);
  progress.done();
  if (status.ok())
    status = writeStages(options, output);
  if (status.ok() && !options.quiet)
    status = say(output.text);
  return status.ok() ? fitOf(options, output.bytes, output.memoryBytes)
                     : launch.fail(status);
}

static int predictAny(const Options &options, Launch &launch) {
  if (dividesLayers(options).value_or(false))
    return predictStages(options, launch);
  return predict(options, launch);
}

/// Only the first of several processes does this.
static int writePlan(const Options &options, Launch &launch) {
  if (!launch.isFirst())
    return Done;
  Progress progress(options.quiet);
  rt::Status status = emit(options, /*speaks=*/true, progress);
  progress.done();
  if (!status.ok())
    return launch.fail(status);
  std::error_code none;
  if (!options.quiet)
    status = say(fmt::format(
        "Wrote {} ({}); run it with tpsp-run {}\n", options.emit,
        rt::bytesText(std::filesystem::file_size(options.emit, none)),
        options.emit));
  return status.ok() ? Done : launch.fail(status);
}

/// Only the first of several processes does this.
static int describeMachine(const Options &options, Launch &launch) {
  if (!launch.isFirst())
    return Done;
  Progress progress(options.quiet);
  std::string text;
  rt::Status status = calibrate(options, progress, text);
  progress.done();
  if (!status.ok())
    return launch.fail(status);
  if (options.output.empty()) {
    status = say(text);
    return status.ok() ? Done : launch.fail(status);
  }
  if (status = rt::writeText(options.output, text); !status.ok())
    return launch.fail(status);
  if (!options.quiet)
    status = say(fmt::format("Wrote {}; use it with --simulate --hardware {}\n",
                             options.output, options.output));
  return status.ok() ? Done : launch.fail(status);
}

/// Does what the options ask for.
static int carryOut(const Options &options, Launch &launch) {
  if (options.calibrate)
    return describeMachine(options, launch);
  // Whether there are stages is asked only if a flag is about them.
  if (std::string problem = contradictionWithoutStages(options);
      !problem.empty() && !dividesLayers(options).value_or(true))
    return launch.fail({TPSP_RT_INVALID, problem});
  if (!options.emit.empty())
    return writePlan(options, launch);
  if (options.simulate)
    return predictAny(options, launch);
  return openAndRun(options, launch);
}

int main(int argc, char **argv) {
  Launch launch("tpsp-run");
  Options options;
  return launch.run(options, {[&](std::string *said) {
                                return parseOptions(argc, argv, options, said);
                              },
                              [&] { return agreedOptions(options); },
                              [&] { return carryOut(options, launch); }});
}
