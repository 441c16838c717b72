#include "Opened.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

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

CheckSettings tpsp::checktool::settingsOf(const Options &options,
                                          Progress &progress) {
  CheckSettings settings;
  settings.predictor.threads = int(options.threads);
  settings.predictor.timeout = options.timeout;
  settings.mostRuns = options.runs;
  settings.scale = options.scale;
  settings.dtype = dtypeOf(options);
  settings.progress = [&](const std::string &what) { progress.phase(what); };
  return settings;
}

bool tpsp::checktool::hasGradients(const Dump &dump) {
  return std::any_of(dump.entries.begin(), dump.entries.end(),
                     [](const DumpEntry &entry) {
                       return entry.role == DumpRole::Gradient ||
                              entry.role == DumpRole::Cotangent ||
                              entry.role == DumpRole::Norm;
                     });
}

Options tpsp::checktool::compiledAs(Options options, bool updates,
                                    bool hasGradients) {
  options.dtype = "f64";
  options.bucketMib = 0;
  options.bucketLayers = "off";
  options.grad = updates || hasGradients;
  if (!updates)
    options.optimizer = "none";
  return options;
}

Options tpsp::checktool::recordedAs(Options options, bool hasGradients) {
  options.bucketMib = 0;
  options.bucketLayers = "off";
  options.grad = hasGradients;
  return options;
}

Status tpsp::checktool::compileWith(Options options, const CompileUse &use,
                                    std::vector<std::string> innerValues,
                                    Progress &progress, tool::Program &out) {
  options.innerValues = std::move(innerValues);
  if (!options.innerValues.empty() &&
      tool::openProgram(options, use, /*speaks=*/false, progress, out).ok())
    return {};
  options.innerValues.clear();
  return tool::openProgram(options, use, /*speaks=*/true, progress, out);
}

/// Opens the arguments, after `take` has taken those of the dump.
template <typename Take>
static Status openArguments(const Options &options, Opened &out, Take take) {
  auto dumped = std::make_unique<DumpedArguments>(
      std::make_unique<rt::RandomSource>(options.seed));
  TPSP_TRY(take(*dumped));
  out.dumped = dumped.get();
  TPSP_TRY(tool::openArguments(options, out.program.plan(), std::move(dumped),
                               out.arguments));
  if (!out.arguments.warning.empty() && !options.quiet)
    fmt::print(stderr, "tpsp-check: warning: {}\n", out.arguments.warning);
  return {};
}

Status tpsp::checktool::takeArguments(const Options &options, const Dump &dump,
                                      Opened &out) {
  return openArguments(options, out, [&](DumpedArguments &dumped) {
    return dumped.take(out.program.plan(), dump);
  });
}

Status tpsp::checktool::takeArgumentsAndFree(const Options &options, Dump &dump,
                                             Opened &out) {
  return openArguments(options, out, [&](DumpedArguments &dumped) {
    return dumped.takeAndFree(out.program.plan(), dump);
  });
}

Status tpsp::checktool::open(const Options &options, const Dump &dump,
                             Progress &progress, Opened &out) {
  std::vector<std::string> inner;
  for (const DumpEntry &entry : dump.entries)
    if (entry.role == DumpRole::Activation || entry.role == DumpRole::Cotangent)
      inner.push_back(entry.name);
  TPSP_TRY(compileWith(options, CompileUse(), std::move(inner), progress,
                       out.program));
  return takeArguments(options, dump, out);
}

Status tpsp::checktool::checkPart(const Options &options, const Dump &all,
                                  Dump dump, bool updates,
                                  const std::set<std::string> &leftOut,
                                  Progress &progress, CheckReport &report) {
  if (dump.entries.empty())
    return {};
  Opened opened;
  opened.arguments.leftOut = leftOut;
  Options compiled = compiledAs(options, updates, hasGradients(dump));
  TPSP_TRY(open(compiled, all, progress, opened));
  std::unique_ptr<NumbersChecker> checker;
  CheckSettings settings = settingsOf(options, progress);
  settings.isUsedOnce = true;
  TPSP_TRY(NumbersChecker::create(opened.checked(), settings, checker));
  TPSP_TRY(checker->check(std::move(dump), report));
  markTaken(*opened.dumped, report);
  return {};
}

void tpsp::checktool::markTaken(const DumpedArguments &dumped,
                                CheckReport &report) {
  for (TensorVerdict &verdict : report.tensors)
    if (verdict.kind == VerdictKind::Equal &&
        dumped.taken().count(verdict.title)) {
      verdict.text = "taken as the program's argument";
      verdict.isTaken = true;
    }
  for (const auto &[title, why] : dumped.passedOver())
    report.notes.push_back(fmt::format(
        "{} is not the program's argument, because {}; random values, or those "
        "of --weights and --inputs, are in its place",
        title, why));
}
