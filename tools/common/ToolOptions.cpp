#include "ToolOptions.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::tool;

std::string tpsp::tool::firstOf(const std::vector<Contradiction> &rows,
                                const ToolOptions &options) {
  for (const Contradiction &row : rows) {
    if (row.holds && row.names.empty())
      return row.message;
    for (const std::string &name : row.names)
      if (row.holds && options.has(name))
        return fmt::format(fmt::runtime(row.message), "--" + name);
  }
  return "";
}

/// An option that comes too late for a compiled plan.
static std::string lateOption(const ToolOptions &options) {
  for (const std::string &name : options.ofCompilation)
    if (options.isPlan && options.has(name))
      return fmt::format("'{}' is compiled, and --{} is about compiling; give "
                         "it to tpsp-run MODEL.mlir --emit",
                         options.model, name);
  return "";
}

static std::string axisOfTwoSizes(const ToolOptions &options) {
  std::set<std::string> axes;
  for (const std::string &entry : options.mesh) {
    std::string axis = entry.substr(0, entry.find('='));
    if (!axes.insert(axis).second)
      return "--mesh gives axis '" + axis + "' two sizes";
  }
  return "";
}

/// Of the backend for CUDA, a shared object, is known when something is to run.
static std::string unknownBackend(const ToolOptions &options) {
  if (options.backend == "cuda")
    return "";
  rt::registerBuiltinBackends();
  rt::BackendFactory factory;
  rt::Status status = rt::findBackend(options.backend, factory);
  return status.ok() ? "" : status.message();
}

/// Options of one thing without the other.
static std::string withoutEffect(const ToolOptions &o) {
  bool isInBlocks = !o.isAutomatic("attention") && o.attention == "blocks";
  bool isForCuda = o.backend == "cuda";
  return firstOf(
      {{o.overlap == "off",
        {"require-overlap"},
        "{} needs --overlap on: without it all communication is exposed"},
       {o.overlap != "on",
        {"overlap-memory", "overlap-chunks"},
        "{} goes with --overlap on"},
       {o.strategy == "auto",
        {},
        "--strategy auto needs the planner, which is not built yet; the "
        "program runs as it is written"},
       {o.attentionBlock != CompileOptions().attentionBlock && !isInBlocks,
        {"attention-block"},
        "{} goes with --attention blocks"},
       {o.graph == "on" && !isForCuda,
        {"graph"},
        "{} on goes with --backend cuda"},
       {o.graph == "off" && !isForCuda,
        {"graph"},
        "{} off goes with --backend cuda"}},
      o);
}

std::string tpsp::tool::commonContradictionIn(const ToolOptions &options) {
  for (const std::string &problem :
       {lateOption(options), withoutEffect(options), axisOfTwoSizes(options),
        unknownBackend(options)})
    if (!problem.empty())
      return problem;
  return "";
}
