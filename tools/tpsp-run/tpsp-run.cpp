// tpsp-run: compiles a model and runs it.
#include "Calibrate.h"
#include "Execute.h"
#include "Launch.h"
#include "Options.h"
#include "Progress.h"
#include "Simulate.h"

#include "tpsp/InitAll.h"
#include "tpsp/Runtime/Driver/ChromeTrace.h"
#include "tpsp/Runtime/Driver/Exposure.h"
#include "tpsp/Runtime/Driver/TimelineSvg.h"
#include "tpsp/Runtime/Driver/Weights.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Writes the whole file or leaves none.
static llvm::Error writeFile(const std::string &path, const std::string &text) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (code)
    return llvm::createStringError(code, "cannot write '" + path +
                                             "': " + code.message());
  file.os() << text;
  file.os().close();
  if (file.os().has_error()) {
    code = file.os().error();
    file.os().clear_error();
    return llvm::createStringError(code, "cannot write '" + path +
                                             "': " + code.message());
  }
  file.keep();
  return llvm::Error::success();
}

/// Opens --weights, and finds out early whether --save and --save-all can be.
static rt::Status openFiles(const Options &options,
                            const rt::Manifest &manifest,
                            std::unique_ptr<rt::TensorSource> &source) {
  using rt::SavedTensors;
  for (auto [path, which] : {std::pair(&options.save, SavedTensors::Parameters),
                             std::pair(&options.saveAll, SavedTensors::All)})
    if (!path->empty())
      if (rt::Status s = rt::checkSavable(manifest, which); !s.ok())
        return s;
  std::string warning;
  rt::Status status = openSource(options, manifest, source, warning);
  if (!warning.empty() && !options.quiet)
    fmt::print(stderr, "tpsp-run: warning: {}\n", warning);
  return status;
}

/// Writes --trace and --timeline; empty, or what went wrong.
static std::string writePictures(const Options &options,
                                 const rt::RunReport &report) {
  if (!options.trace.empty())
    if (llvm::Error error =
            writeFile(options.trace, rt::toChromeJson(report.trace)))
      return llvm::toString(std::move(error));
  if (options.timeline.empty())
    return "";
  std::string summary =
      rt::summaryLine(rt::medianStep(report), rt::exposureOf(report.trace),
                      report.manifest.arenaBytes);
  return llvm::toString(
      writeFile(options.timeline, rt::toSvg(report.trace, summary)));
}

/// Writes --save and --save-all; empty, or what went wrong.
static std::string writeTensors(const Options &options,
                                const rt::Manifest &manifest,
                                rt::World &world) {
  using rt::SavedTensors;
  for (auto [path, which] : {std::pair(&options.save, SavedTensors::Parameters),
                             std::pair(&options.saveAll, SavedTensors::All)})
    if (!path->empty())
      if (rt::Status s = rt::saveTensors(world, manifest, *path, which);
          !s.ok())
        return s.message();
  return "";
}

/// The report, for people and as --report.
static int print(const Options &options, const rt::RunReport &report,
                 Launch &launch) {
  if (!launch.isFirst())
    return Done;
  if (!options.quiet)
    fmt::print("{}", rt::toText(report));
  if (!options.report.empty())
    if (llvm::Error error = writeFile(options.report, rt::toJson(report)))
      return launch.fail(llvm::toString(std::move(error)));
  return Done;
}

static int runModel(const Options &options, Launch &launch) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // One sentence and the line it is about; not the operation in full.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  // The first process says what all of them find in the model.
  std::string unsaid;
  llvm::raw_string_ostream elsewhere(unsaid);
  mlir::SourceMgrDiagnosticHandler diagnostics(
      sources, &context,
      launch.isFirst() ? static_cast<llvm::raw_ostream &>(llvm::errs())
                       : elsewhere);
  Progress progress(options.quiet);

  rt::RunReport report;
  auto begin = Clock::now();
  CompileOptions compile;
  compile.function = options.function;
  compile.grad = options.grad;
  compile.keepMasks = options.keepMasks;
  compile.dtype = options.dtype;
  compile.mesh = options.mesh;
  compile.shardReplicated = options.shardReplicated;
  compile.rematerialize = options.rematerialize;
  compile.keepGathered = options.keepGathered;
  compile.microBatches = options.microBatches;
  compile.microBatchIndex = options.microBatchIndex;
  compile.overlap = options.overlap == "on";
  compile.hardware = options.hardware;
  compile.threads = options.threads;
  compile.overlapBuffers = options.overlapBuffers;
  compile.overlapChunks = options.overlapChunks;
  compile.requireOverlap = options.requireOverlap;
  compile.bucketBytes = options.bucketMib * (1 << 20);
  auto model =
      compileModel(context, options.model, compile, [&](llvm::StringRef phase) {
        progress.phase("compiling: " + phase.str());
      });
  if (!model) {
    progress.done();
    return launch.fail(unsaid + llvm::toString(model.takeError()));
  }
  report.manifest = model->manifest;
  report.dtype = options.dtype.empty() ? "as written" : options.dtype;
  if (options.simulate) {
    report.compileSeconds = secondsSince(begin);
    llvm::Error error = predict(options, *model, report);
    progress.done();
    if (error)
      return launch.fail(llvm::toString(std::move(error)));
    if (std::string problem = writePictures(options, report); !problem.empty())
      return launch.fail(problem);
    return print(options, report, launch);
  }
  progress.phase("compiling: machine code");
  auto program = JitProgram::create(*model->plan, model->manifest.program);
  if (!program) {
    progress.done();
    return launch.fail(llvm::toString(program.takeError()));
  }
  report.compileSeconds = secondsSince(begin);
  report.backend = options.backend;
  report.tolerance = toleranceOf(model->manifest);

  progress.phase("filling arguments");
  rt::Timeline timeline(model->manifest);
  std::unique_ptr<rt::TensorSource> source;
  std::unique_ptr<rt::World> world;
  rt::Status status = openFiles(options, model->manifest, source);
  if (status.ok())
    status = prepare(options, model->manifest, *source, &timeline,
                     launch.transport(), world);
  if (status.ok())
    status = runSteps(options, *program, *world, timeline, progress,
                      report.stepSeconds);
  progress.done();
  if (!status.ok())
    return launch.fail(status);
  if (options.backend == "trace")
    return Done;
  report.residentBytes = rt::peakResidentBytes();
  if (status = world->sumOverProcesses(report.residentBytes); !status.ok())
    return launch.fail(status);
  report.trace = recordedTrace(*model, timeline, options);
  std::string problem = writeTensors(options, model->manifest, *world);
  if (problem.empty() && launch.isFirst())
    problem = writePictures(options, report);
  if (!problem.empty())
    return launch.fail(problem);

  if (options.verify) {
    begin = Clock::now();
    if (llvm::Error error =
            verify(*model, *source, *world, progress, report.errors)) {
      progress.done();
      return launch.fail(llvm::toString(std::move(error)));
    }
    report.verifySeconds = secondsSince(begin);
  }
  progress.done();
  if (int code = print(options, report, launch); code != Done)
    return code;
  if (!launch.isFirst())
    return Done;
  return options.verify && !report.verified() ? Failed : Done;
}

/// Of several processes one is enough.
static int describeMachine(const Options &options, Launch &launch) {
  if (!launch.isFirst())
    return Done;
  Progress progress(options.quiet);
  llvm::Expected<Hardware> hardware = calibrate(progress);
  progress.done();
  if (!hardware)
    return launch.fail(llvm::toString(hardware.takeError()));
  std::string text = toJson(*hardware);
  if (options.output.empty()) {
    fmt::print("{}", text);
    return Done;
  }
  if (llvm::Error error = writeFile(options.output, text))
    return launch.fail(llvm::toString(std::move(error)));
  if (!options.quiet)
    fmt::print("Wrote {}; use it with --simulate --hardware {}\n",
               options.output, options.output);
  return Done;
}

int main(int argc, char **argv) {
  Launch launch;
  if (rt::Status status = launch.join(); !status.ok())
    return launch.fail(status);
  Options options;
  int code = parseOptions(argc, argv, options, /*isSilent=*/!launch.isFirst());
  if (code >= 0)
    return launch.finish(code);
  options.quiet = options.quiet || !launch.isFirst();
  if (options.calibrate)
    return launch.finish(describeMachine(options, launch));
  return launch.finish(runModel(options, launch));
}
