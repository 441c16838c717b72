#include "Compile.h"

using namespace tpsp;
using namespace tpsp::tool;

rt::Status tpsp::tool::compile(const ToolOptions &options, const CompileUse &,
                               bool, Progress &, Program &) {
  return noCompiler(options, "'" + options.model + "'");
}

rt::Status tpsp::tool::findParts(const ToolOptions &options, bool,
                                 ModelParts &) {
  return noCompiler(options, "'" + options.model + "'");
}

std::string tpsp::tool::hardwareNames() { return "none in this build"; }

double tpsp::tool::peakFlops(const ToolOptions &, int64_t, int64_t) {
  return 0;
}

rt::Status tpsp::tool::predictRows(const ToolOptions &options,
                                   const rt::PlanDescription &, std::string &,
                                   std::vector<double> &) {
  return noCompiler(options, "--hardware");
}
