#include "Program.h"

#include <fmt/format.h>

#include <filesystem>

using namespace tpsp;
using namespace tpsp::run;

static std::string meshText(const std::vector<MeshAxis> &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh)
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  return text.empty() ? "one rank" : text;
}

/// Whether the plan's mesh has the axis with the size of "tp=4".
static bool hasAxis(const std::vector<MeshAxis> &mesh,
                    const std::string &entry) {
  for (const MeshAxis &axis : mesh)
    if (entry == fmt::format("{}={}", axis.name, axis.size))
      return true;
  return false;
}

rt::Status tpsp::run::openPlan(const Options &options, Program &out) {
  if (rt::Status s = rt::readPlan(options.model, out.description); !s.ok())
    return s;
  for (const std::string &entry : options.mesh)
    if (!hasAxis(out.plan().mesh, entry))
      return {TPSP_RT_INVALID,
              fmt::format("cannot run '{}' with --mesh {}: it was compiled for "
                          "{}; compile the model for this mesh",
                          options.model, entry, meshText(out.plan().mesh))};
  return rt::loadPlan(options.model, out.step);
}

StepTrace tpsp::run::namedTrace(const rt::PlanDescription &description,
                                const std::string &how) {
  StepTrace trace = emptyTrace(description.plan);
  trace.title +=
      " of " + std::filesystem::path(description.model).filename().string();
  for (const MeshAxis &axis : description.plan->mesh)
    trace.setting += fmt::format("{}={}, ", axis.name, axis.size);
  trace.setting += how;
  return trace;
}
