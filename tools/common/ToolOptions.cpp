#include "ToolOptions.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <fmt/format.h>

#include <cstdlib>

using namespace tpsp;
using namespace tpsp::tool;

std::string tpsp::tool::defaultCodeEffort() {
  const char *effort = std::getenv("TPSP_CODE_EFFORT");
  return effort && *effort ? effort : "full";
}

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

/// Reports an option that affects compiling, if the plan is compiled already.
static std::string lateOption(const ToolOptions &options) {
  for (const std::string &name : options.ofCompilation)
    if (options.isPlan && options.has(name))
      return fmt::format("'{}' is compiled, and --{} is about compiling; give "
                         "it to tpsp-run MODEL.mlir --emit",
                         options.model, name);
  return "";
}

/// Returns the name that two entries ("tp=4") have in common, or an empty
/// string.
static std::string namedTwice(const std::vector<std::string> &entries) {
  std::set<std::string> names;
  for (const std::string &entry : entries)
    if (std::string name = entry.substr(0, entry.find('='));
        !names.insert(name).second)
      return name;
  return "";
}

static std::string numberedTwice(const ToolOptions &options) {
  if (std::string axis = namedTwice(options.mesh); !axis.empty())
    return "--mesh gives axis '" + axis + "' two sizes";
  if (std::string index = namedTwice(options.extents); !index.empty())
    return "--extent gives index '" + index + "' two extents";
  if (std::string index = namedTwice(options.pad); !index.empty())
    return "--pad gives index '" + index + "' two multiples";
  return "";
}

/// Reports an unknown backend. CUDA's is a shared object, and only a run finds
/// out whether it can be loaded.
static std::string unknownBackend(const ToolOptions &options) {
  if (options.backend == "cuda")
    return "";
  rt::registerBuiltinBackends();
  rt::BackendFactory factory;
  rt::Status status = rt::findBackend(options.backend, factory);
  return status.ok() ? "" : status.message();
}

/// Reports an option that has no effect without another one.
static std::string withoutEffect(const ToolOptions &o) {
  bool isInBlocks = !o.isAutomatic("attention") && o.attention == "blocks";
  bool isForCuda = o.backend == "cuda";
  return firstOf(
      {{o.overlap == "off",
        {"require-overlap"},
        "{} needs --overlap on: without it all communication is exposed"},
       {o.rematerialize != "full",
        {"rematerialize-layers"},
        "{} counts the layers of --rematerialize full"},
       {o.overlap != "on",
        {"overlap-memory", "overlap-chunks"},
        "{} goes with --overlap on"},
       {o.attentionBlock != CompileOptions().attentionBlock && !isInBlocks,
        {"attention-block"},
        "{} goes with --attention blocks"},
       {!o.isAutomatic("attention") && !o.keepsCalls(),
        {"balance-attention"},
        "{} goes with --attention fused or ring"},
       {o.graph == "on" && !isForCuda,
        {"graph"},
        "{} on goes with --backend cuda"},
       {o.graph == "off" && !isForCuda,
        {"graph"},
        "{} off goes with --backend cuda"}},
      o);
}

/// No machine has more cores. The OpenMP library ends the process if it cannot
/// start its threads.
static constexpr int64_t mostThreads = 1024;

static std::string tooManyThreads(const ToolOptions &options) {
  if (options.threads <= mostThreads)
    return "";
  return fmt::format("--threads: expected a number of at most {}, not '{}'",
                     mostThreads, options.threads);
}

/// Reports a wrong value in the environment. The command line's are checked.
static std::string unknownEffort(const ToolOptions &options) {
  const std::string &effort = options.codeEffort;
  return effort == "full" || effort == "little"
             ? ""
             : fmt::format("TPSP_CODE_EFFORT is '{}': full or little", effort);
}

std::string tpsp::tool::commonContradictionIn(const ToolOptions &options) {
  for (const std::string &problem :
       {lateOption(options), withoutEffect(options), numberedTwice(options),
        tooManyThreads(options), unknownBackend(options),
        unknownEffort(options)})
    if (!problem.empty())
      return problem;
  return "";
}
