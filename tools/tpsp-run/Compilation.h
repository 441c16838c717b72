// What tpsp-run needs the compiler for. In a build without it (-DTPSP_COMPILER=
// OFF) each of these refuses with a sentence.
#ifndef TPSP_TOOLS_TPSP_RUN_COMPILATION_H
#define TPSP_TOOLS_TPSP_RUN_COMPILATION_H

#include "Program.h"
#include "Progress.h"

#include "tpsp/Runtime/Driver/Report.h"

namespace tpsp::run {

/// Compiles options.model in memory. Diagnostics go to standard error if
/// `speaks`, else into the status's message.
rt::Status compile(const Options &options, bool speaks, Progress &progress,
                   Program &out);

/// Compiles options.model into the file options.emit.
rt::Status emit(const Options &options, bool speaks, Progress &progress);

/// Compiles options.model and fills in the report's prediction, its one step,
/// its trace and its backend. Fails if options.hardware is unknown, malformed,
/// or too small for the mesh.
rt::Status simulate(const Options &options, bool speaks, Progress &progress,
                    rt::RunReport &report);

/// Measures this machine, or with --backend cuda its GPUs, and sets
/// `description` to a text for --hardware.
rt::Status calibrate(const Options &options, Progress &progress,
                     std::string &description);

/// "a100-sxm, cpu, ...", for --help.
std::string hardwareNames();

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_COMPILATION_H
