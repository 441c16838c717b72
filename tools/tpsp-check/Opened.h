// A compiled program with its arguments, as a check needs it.
#ifndef TPSP_TOOLS_TPSP_CHECK_OPENED_H
#define TPSP_TOOLS_TPSP_CHECK_OPENED_H

#include "Options.h"
#include "common/Compile.h"
#include "common/MakeWorld.h"

#include "tpsp/Check/Check.h"
#include "tpsp/Check/DumpedArguments.h"

#include <set>
#include <string>

namespace tpsp::checktool {

check::CheckSettings settingsOf(const Options &options,
                                tool::Progress &progress);

/// Whether a dump has tensors that only a program with gradients makes, besides
/// new parameters.
bool hasGradients(const check::Dump &dump);

/// The options with which a program is compiled: in f64, and with a collective
/// of its own for each gradient.
Options compiledAs(Options options, bool updates, bool hasGradients);

/// The options with which a program is compiled whose recording or page is
/// wanted. Recordings may have buckets and overlap, but the ledger that they
/// are compared with has none.
Options recordedAs(Options options, bool hasGradients);

/// A compiled program, and where its arguments come from.
struct Opened {
  tool::Program program;
  tool::Arguments arguments;
  /// Those of the dump; a part of the arguments' source.
  const check::DumpedArguments *dumped = nullptr;

  check::CheckedProgram checked() const {
    return {program.description, program.step, *arguments.source};
  }
};

/// Compiles the program so that it returns these values inside of it. Values of
/// micro-batches may have no form in which a step can return them; then it
/// returns its own results alone.
rt::Status compileWith(Options options, const tool::CompileUse &use,
                       std::vector<std::string> innerValues,
                       tool::Progress &progress, tool::Program &out);

/// Takes the arguments of a compiled program from files, the dump, or else at
/// random.
rt::Status takeArguments(const Options &options, const check::Dump &dump,
                         Opened &out);

/// The same. The values of arguments without copies are freed in the dump.
rt::Status takeArgumentsAndFree(const Options &options, check::Dump &dump,
                                Opened &out);

/// Compiles the program with the values inside of it that the dump has, and
/// takes its arguments.
rt::Status open(const Options &options, const check::Dump &dump,
                tool::Progress &progress, Opened &out);

/// Checks a part of a dump, with the arguments that the whole dump has. Those
/// of `leftOut` may be given by --inputs although this part has none of them.
rt::Status checkPart(const Options &options, const check::Dump &all,
                     check::Dump dump, bool updates,
                     const std::set<std::string> &leftOut,
                     tool::Progress &progress, check::CheckReport &report);

/// Marks the verdicts on what the program took from the dump, and says what it
/// could not take.
void markTaken(const check::DumpedArguments &dumped,
               check::CheckReport &report);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_OPENED_H
