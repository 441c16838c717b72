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

/// The name that two of the entries ("tp=4") give a number; empty if none is.
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
       {o.attentionBlock != CompileOptions().attentionBlock && !isInBlocks,
        {"attention-block"},
        "{} goes with --attention blocks"},
       {!o.isAutomatic("attention") && o.attention != "fused",
        {"balance-attention"},
        "{} goes with --attention fused"},
       {o.graph == "on" && !isForCuda,
        {"graph"},
        "{} on goes with --backend cuda"},
       {o.graph == "off" && !isForCuda,
        {"graph"},
        "{} off goes with --backend cuda"}},
      o);
}

/// More than this no machine has cores for, and the OpenMP library ends the
/// process where it cannot start them.
static constexpr int64_t mostThreads = 1024;

static std::string tooManyThreads(const ToolOptions &options) {
  if (options.threads <= mostThreads)
    return "";
  return fmt::format("--threads: expected a number of at most {}, not '{}'",
                     mostThreads, options.threads);
}

std::string tpsp::tool::commonContradictionIn(const ToolOptions &options) {
  for (const std::string &problem :
       {lateOption(options), withoutEffect(options), numberedTwice(options),
        tooManyThreads(options), unknownBackend(options)})
    if (!problem.empty())
      return problem;
  return "";
}
