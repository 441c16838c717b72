// Compiling a model in memory. In a build without the compiler
// (-DTPSP_COMPILER=OFF) this refuses with a sentence.
#ifndef TPSP_TOOLS_COMMON_COMPILE_H
#define TPSP_TOOLS_COMMON_COMPILE_H

#include "Program.h"
#include "Progress.h"

namespace tpsp::tool {

/// What a program is compiled for.
struct CompileUse {
  /// A file, which may be run anywhere.
  bool isEmitted = false;
  /// A prediction on options.hardware.
  bool isSimulated = false;
  /// A comparison with the reference.
  bool isVerified = false;
  /// A page, which has the program's equations.
  bool isExplained = false;
};

/// Compiles options.model. Diagnostics go to standard error if `speaks`, else
/// into the status's message.
rt::Status compile(const ToolOptions &options, const CompileUse &use,
                   bool speaks, Progress &progress, Program &out);

/// Reads the plan, or compiles the model.
rt::Status openProgram(const ToolOptions &options, const CompileUse &use,
                       bool speaks, Progress &progress, Program &out);

/// What tools say that need the compiler and do not have it; `what` is what was
/// asked for.
rt::Status noCompiler(const ToolOptions &options, const std::string &what);

/// "a100-sxm, cpu, ...", for --help.
std::string hardwareNames();

/// The FLOP/s of a rank's matmuls of this element type (TPSP_RT_F32, ...) at
/// most, by the description that --hardware names; 0 if it is not known.
double peakFlops(const ToolOptions &options, int64_t dtype, int64_t ranks);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_COMPILE_H
