// tpsp-check: holds somebody's parallel run against what a program needs.
#include "CheckLayers.h"
#include "CheckUpdates.h"
#include "Opened.h"
#include "Options.h"
#include "Page.h"
#include "common/Compile.h"
#include "common/MakeWorld.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Check/Check.h"
#include "tpsp/Check/DumpedArguments.h"
#include "tpsp/Check/Names.h"
#include "tpsp/Check/Planted.h"
#include "tpsp/Check/Traces.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;
using tool::CompileUse;
using tool::Progress;

namespace {
/// The reports of the checks, for the page.
struct Checked {
  std::vector<rt::PageCheck> pages;
  /// Whether a check is of gradients.
  bool hasGradients = false;
};
} // namespace

/// The entries for which `keeps` holds.
template <typename Keep> static Dump partOf(const Dump &dump, Keep keeps) {
  Dump part = dump;
  part.entries.erase(
      std::remove_if(part.entries.begin(), part.entries.end(),
                     [&](const DumpEntry &entry) { return !keeps(entry); }),
      part.entries.end());
  return part;
}

/// The extents and the mesh of the model, which maps of names refer to.
static Status findExtents(const Options &options, Progress &progress,
                          NamedExtents &out) {
  tool::Program program;
  TPSP_TRY(tool::openProgram(compiledAs(options, false, false), CompileUse(),
                             /*speaks=*/false, progress, program));
  out = namedExtentsOf(program.plan());
  return {};
}

/// Reads --numbers, with --names.
static Status readDumps(const Options &options, Progress &progress, Dump &out) {
  TPSP_TRY(readDump(options.numbers, out));
  if (options.names.empty())
    return {};
  NameMap names;
  TPSP_TRY(NameMap::read(options.names, names));
  NamedExtents extents;
  if (names.needsProgram() && !options.against.empty())
    return rt::invalid("--names refers to a program's extents or mesh; "
                       "--against has no program");
  if (names.needsProgram())
    TPSP_TRY(findExtents(options, progress, extents));
  return names.apply(extents, out);
}

/// --against: two dumps, without a model.
static Status checkAgainst(const Options &options, Progress &progress,
                           CheckReport &report) {
  Dump right, dump;
  TPSP_TRY(readDump(options.against, right));
  TPSP_TRY(readDumps(options, progress, dump));
  return checkDumps(right, dump, settingsOf(options, progress), report);
}

/// New parameters come from a step with an update, and all else from one
/// without. Sets `isBackward` if a step has gradients.
static Status checkModel(const Options &options, Progress &progress,
                         CheckReport &report, bool &isBackward) {
  isBackward |= options.layers;
  if (options.layers)
    return checkLayers(options, progress, report);
  Dump dump;
  TPSP_TRY(readDumps(options, progress, dump));
  std::set<std::string> ofUpdate;
  bool updates = options.optimizer != "none";
  isBackward |= updates || hasGradients(dump);
  if (updates)
    TPSP_TRY(namesOfUpdate(options, progress, ofUpdate));
  auto isUpdated = [](const DumpEntry &entry) {
    return entry.role == DumpRole::Updated;
  };
  auto isNot = [&](const DumpEntry &entry) {
    return !isUpdated(entry) &&
           !(entry.role == DumpRole::Activation && ofUpdate.count(entry.name));
  };
  TPSP_TRY(checkPart(options, dump, partOf(dump, isNot), false, ofUpdate,
                     progress, report));
  return checkUpdates(options, dump, partOf(dump, isUpdated), progress, report);
}

static Status say(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return {};
  return {TPSP_RT_INTERNAL, std::string("standard output cannot be written: ") +
                                std::strerror(errno)};
}

/// Prints a report as text, and writes --json. A report that is right is
/// printed as well, so that silence means nothing.
static Status print(const Options &options, bool isRight,
                    const std::string &text, const std::string &json) {
  if (options.json == "-")
    return say(json);
  if (!options.quiet || !isRight)
    TPSP_TRY(say(text));
  return options.json.empty() ? Status() : rt::writeText(options.json, json);
}

/// Ends with a message about a failure.
static int fail(const Status &status) {
  fmt::print(stderr, "tpsp-check: {}\n", status.message());
  return tool::Failed;
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
    TPSP_TRY(open(own, {}, progress, checked));
    own.dtype = options.dtype;
    TPSP_TRY(open(own, {}, progress, run));
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
  if (!status.ok())
    return fail(status);
  return areNamed(planted) ? tool::Done : tool::Failed;
}

/// Checks --numbers. `out` gets the report.
static int checkDump(const Options &options, Checked &out) {
  Progress progress(options.quiet);
  CheckReport report;
  Status status = options.against.empty()
                      ? checkModel(options, progress, report, out.hasGradients)
                      : checkAgainst(options, progress, report);
  progress.done();
  if (status.ok()) {
    findCauses(report);
    out.pages.push_back(toPageCheck(report));
    status = print(options, report.isRight(), toText(report, options.all),
                   out.pages.back().report);
  }
  if (!status.ok())
    return fail(status);
  return report.isRight() ? tool::Done : tool::Failed;
}

static Status compareTraces(const Options &options, Progress &progress,
                            TraceReport &report) {
  Options compiled = recordedAs(options, !options.forward);
  tool::Program program;
  TPSP_TRY(tool::openProgram(compiled, CompileUse(), /*speaks=*/true, progress,
                             program));
  std::vector<Recording> recordings;
  TPSP_TRY(
      readRecordings(options.traces, program.plan().numRanks(), recordings));
  PredictedTimes predicted;
  if (options.has("hardware"))
    TPSP_TRY(tool::predictRows(options, program.description, predicted.machine,
                               predicted.seconds));
  return checkTraces(program.plan(), std::move(recordings), options.steps,
                     report, predicted);
}

/// --trace: the collectives of a step. `out` gets the report.
static int checkTrace(const Options &options, Checked &out) {
  Progress progress(options.quiet);
  TraceReport report;
  Status status = compareTraces(options, progress, report);
  progress.done();
  bool isRight = report.outcome() == TraceOutcome::Right;
  if (status.ok()) {
    out.pages.push_back(toPageCheck(report));
    out.hasGradients |= !options.forward;
    status = print(options, isRight, toText(report), out.pages.back().report);
  }
  if (!status.ok())
    return fail(status);
  return isRight ? tool::Done : tool::Failed;
}

static int carryOut(const Options &options) {
  if (options.selftest > 0)
    return plant(options);
  int code = tool::Done;
  Checked checked;
  if (!options.traces.empty())
    code = checkTrace(options, checked);
  if (!options.numbers.empty())
    code = std::max(code, checkDump(options, checked));
  if (options.html.empty() || checked.pages.empty())
    return code;
  Progress progress(options.quiet);
  Status status =
      writePage(options, checked.hasGradients, progress, checked.pages);
  progress.done();
  return status.ok() ? code : fail(status);
}

int main(int argc, char **argv) {
  Options options;
  if (int code = parseOptions(argc, argv, options); code >= 0)
    return code;
  return carryOut(options);
}
