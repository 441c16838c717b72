#include "Program.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "Compile.h"

#include <fmt/format.h>

#include <filesystem>

using namespace tpsp;
using namespace tpsp::tool;

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

rt::Status tpsp::tool::openPlan(const ToolOptions &options, Program &out) {
  TPSP_TRY(rt::readPlan(options.model, out.description));
  for (const std::string &entry : options.mesh)
    if (!hasAxis(out.plan().mesh, entry))
      return rt::invalid("cannot run '{}' with --mesh {}: it was compiled for "
                         "{}; compile the model for this mesh",
                         options.model, entry, meshText(out.plan().mesh));
  return rt::loadPlan(options.model, out.step);
}

StepTrace tpsp::tool::namedTrace(const rt::PlanDescription &description,
                                 const std::string &how) {
  StepTrace trace = emptyTrace(description.plan);
  trace.title +=
      " of " + std::filesystem::path(description.model).filename().string();
  for (const MeshAxis &axis : description.plan->mesh)
    trace.setting += fmt::format("{}={}, ", axis.name, axis.size);
  trace.setting += how;
  return trace;
}

rt::Status tpsp::tool::openProgram(const ToolOptions &options,
                                   const CompileUse &use, bool speaks,
                                   Progress &progress, Program &out) {
  return options.isPlan ? openPlan(options, out)
                        : compile(options, use, speaks, progress, out);
}

rt::Status tpsp::tool::noCompiler(const ToolOptions &options,
                                  const std::string &what) {
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("{} needs the compiler, and this {} was built without "
                      "it: it runs compiled plans; make one where the compiler "
                      "is, with tpsp-run MODEL.mlir --emit PLAN.so",
                      what, options.tool)};
}
