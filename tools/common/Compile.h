// Compiling a model in memory. In a build without the compiler
// (-DTPSP_COMPILER=OFF) compile() returns an error that says so.
#ifndef TPSP_TOOLS_COMMON_COMPILE_H
#define TPSP_TOOLS_COMMON_COMPILE_H

#include "Program.h"
#include "Progress.h"

#include "tpsp/Abi/ModelPart.h"

#include <vector>

namespace tpsp::tool {

/// What a program is compiled for.
struct CompileUse {
  /// A plan file, which may run on another machine.
  bool isEmitted = false;
  /// A prediction on options.hardware.
  bool isSimulated = false;
  /// A comparison with the reference.
  bool isVerified = false;
  /// An HTML page, which shows the program's equations.
  bool isExplained = false;
  /// A forward pass that returns logits (ReturnLogits.h), of as few sequences
  /// as the mesh allows unless the options have their number.
  bool isSampled = false;
  /// A layer's function, which may be private.
  bool isLayer = false;
};

/// Compiles options.model. Diagnostics go to standard error if `speaks`, else
/// into the status's message.
rt::Status compile(const ToolOptions &options, const CompileUse &use,
                   bool speaks, Progress &progress, Program &out);

/// Reads options.model if it is a compiled plan, else compiles it.
rt::Status openProgram(const ToolOptions &options, const CompileUse &use,
                       bool speaks, Progress &progress, Program &out);

/// The parts of options.model that can be compiled alone (Abi/ModelPart.h).
rt::Status findParts(const ToolOptions &options, bool speaks, ModelParts &out);

/// Predicts how long each collective of a compiled program takes on the machine
/// that --hardware names: seconds of each row of the ledger, each time. Sets
/// the machine's name, too.
rt::Status predictRows(const ToolOptions &options,
                       const rt::PlanDescription &description,
                       std::string &machine, std::vector<double> &seconds);

/// UNSUPPORTED: the message of a tool built without the compiler. `what` names
/// the request that needs it, such as "--emit".
rt::Status noCompiler(const ToolOptions &options, const std::string &what);

/// "a100-sxm, cpu, ...", for --help.
std::string hardwareNames();

/// Returns the peak FLOP/s of a rank's matmuls in this element type
/// (TPSP_RT_F32, ...), from the description that --hardware names; 0 if
/// unknown.
double peakFlops(const ToolOptions &options, int64_t dtype, int64_t ranks);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_COMPILE_H
