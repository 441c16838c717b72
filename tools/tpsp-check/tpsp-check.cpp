// tpsp-check: holds somebody's parallel run against what a program needs.
#include "Options.h"
#include "common/Compile.h"
#include "common/MakeWorld.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Check/Check.h"
#include "tpsp/Check/Planted.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;
using tool::CompileUse;
using tool::Progress;

/// The type that --dtype names; -1 without it.
static int64_t dtypeOf(const Options &options) {
  for (int64_t dtype : {TPSP_RT_F64, TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F16})
    if (options.dtype == rt::elementName(dtype))
      return dtype;
  return -1;
}

static CheckSettings settingsOf(const Options &options, Progress &progress) {
  CheckSettings settings;
  settings.predictor.threads = int(options.threads);
  settings.predictor.timeout = options.timeout;
  settings.mostRuns = options.runs;
  settings.scale = options.scale;
  settings.dtype = dtypeOf(options);
  settings.progress = [&](const std::string &what) { progress.phase(what); };
  return settings;
}

/// The options with which a program is compiled: in f64, and with a collective
/// of its own for each gradient.
static Options compiledAs(Options options, bool updates, bool hasGradients) {
  options.dtype = "f64";
  options.bucketMib = 0;
  options.bucketLayers = "off";
  options.grad = updates || hasGradients;
  if (!updates)
    options.optimizer = "none";
  return options;
}

/// A compiled program, and where its arguments come from.
struct Opened {
  tool::Program program;
  tool::Arguments arguments;

  CheckedProgram checked() const {
    return {program.description, program.step, *arguments.source};
  }
};

static Status open(const Options &options, Progress &progress, Opened &out) {
  TPSP_TRY(tool::openProgram(options, CompileUse(), /*speaks=*/true, progress,
                             out.program));
  return tool::openArguments(options, out.program.plan(),
                             std::make_unique<rt::RandomSource>(options.seed),
                             out.arguments);
}

/// The entries for which `keeps` holds.
template <typename Keep> static Dump partOf(const Dump &dump, Keep keeps) {
  Dump part = dump;
  part.entries.erase(std::remove_if(part.entries.begin(), part.entries.end(),
                                    [&](const DumpEntry &entry) {
                                      return !keeps(entry.role);
                                    }),
                     part.entries.end());
  return part;
}

static Status checkPart(const Options &options, const Dump &dump, bool updates,
                        Progress &progress, CheckReport &report) {
  if (dump.entries.empty())
    return {};
  bool hasGradients = std::any_of(dump.entries.begin(), dump.entries.end(),
                                  [](const DumpEntry &entry) {
                                    return entry.role == DumpRole::Gradient ||
                                           entry.role == DumpRole::Cotangent ||
                                           entry.role == DumpRole::Norm;
                                  });
  Opened opened;
  Options compiled = compiledAs(options, updates, hasGradients);
  TPSP_TRY(open(compiled, progress, opened));
  std::unique_ptr<NumbersChecker> checker;
  TPSP_TRY(NumbersChecker::create(opened.checked(),
                                  settingsOf(options, progress), checker));
  return checker->check(dump, report);
}

/// New parameters come from a step with an update, and all else from one
/// without, which returns gradients.
static Status checkModel(const Options &options, Progress &progress,
                         CheckReport &report) {
  Dump dump;
  TPSP_TRY(readDump(options.numbers, dump));
  auto isUpdated = [](DumpRole role) { return role == DumpRole::Updated; };
  TPSP_TRY(checkPart(
      options, partOf(dump, [&](DumpRole role) { return !isUpdated(role); }),
      false, progress, report));
  return checkPart(options, partOf(dump, isUpdated),
                   options.optimizer != "none", progress, report);
}

static Status say(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return {};
  return {TPSP_RT_INTERNAL, std::string("standard output cannot be written: ") +
                                std::strerror(errno)};
}

static Status print(const Options &options, const CheckReport &report) {
  bool isPiped = options.json == "-";
  if (!isPiped && !options.quiet)
    TPSP_TRY(say(toText(report, options.all)));
  if (isPiped)
    return say(toJson(report));
  return options.json.empty() ? Status()
                              : rt::writeText(options.json, toJson(report));
}

/// Whether all planted mistakes that numbers show were named.
static bool areNamed(const std::vector<PlantedMistakeReport> &planted) {
  return std::all_of(planted.begin(), planted.end(),
                     [](const PlantedMistakeReport &each) {
                       return each.fate == PlantedFate::Named ||
                              each.fate == PlantedFate::Listed ||
                              each.fate == PlantedFate::Invisible;
                     });
}

/// --selftest: mistakes in the program's own steps.
static int plant(const Options &options) {
  Progress progress(options.quiet);
  Opened checked, run;
  Options own = compiledAs(options, false, true);
  std::vector<PlantedMistakeReport> planted;
  auto plantAll = [&]() -> Status {
    TPSP_TRY(open(own, progress, checked));
    own.dtype = options.dtype;
    TPSP_TRY(open(own, progress, run));
    std::unique_ptr<NumbersChecker> checker;
    CheckSettings settings = settingsOf(options, progress);
    TPSP_TRY(NumbersChecker::create(checked.checked(), settings, checker));
    return plantMistakes(run.checked(), settings.predictor, *checker,
                         options.selftest, options.seed, planted);
  };
  Status status = plantAll();
  progress.done();
  if (status.ok())
    status = say(toText(planted));
  if (!status.ok()) {
    fmt::print(stderr, "tpsp-check: {}\n", status.message());
    return tool::Failed;
  }
  return areNamed(planted) ? tool::Done : tool::Failed;
}

static int carryOut(const Options &options) {
  Progress progress(options.quiet);
  CheckReport report;
  Status status = checkModel(options, progress, report);
  progress.done();
  if (status.ok()) {
    findCauses(report);
    status = print(options, report);
  }
  if (!status.ok()) {
    fmt::print(stderr, "tpsp-check: {}\n", status.message());
    return tool::Failed;
  }
  return report.isRight() ? tool::Done : tool::Failed;
}

int main(int argc, char **argv) {
  Options options;
  if (int code = parseOptions(argc, argv, options); code >= 0)
    return code;
  return options.selftest > 0 ? plant(options) : carryOut(options);
}
