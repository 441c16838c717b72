/// The options of a compilation, as plain values. They are declared in
/// Options.def; tpsp-opt's pipelines, tpsp-run and programs that call
/// compileModel() fill in the same struct. Needs neither LLVM nor MLIR.
#ifndef TPSP_PASSES_OPTIONS_COMPILEOPTIONS_H
#define TPSP_PASSES_OPTIONS_COMPILEOPTIONS_H

#include "tpsp/Passes/Options/OptionRow.h"
#include "tpsp/Schedule/HardwareChoice.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tpsp {

struct CompileOptions {
#define OPTION(type, field, value, row) type field = value;
#include "tpsp/Passes/Options/Options.def"
#undef OPTION

  /// Return what is decided by comparing numbers (a router's experts), for the
  /// reference to go on with.
  bool returnChoices = false;
  /// Return how many choices of tokens found no place at their experts.
  bool countDropped = false;
  /// Changes the program once it is placed and differentiated; may be null. For
  /// tests, which plant mistakes that a run must notice.
  std::function<void(mlir::ModuleOp)> edit;
  /// Sees the program once it has its collectives; may be null.
  std::function<void(mlir::ModuleOp)> withCollectives;

  /// Whether products and attention are what a GPU's libraries do.
  bool usesGpuLibraries() const { return forGpu || device == "cuda"; }
  /// Whether operations stay that a library computes in one call.
  bool keepsCalls() const { return attention == "fused"; }

  /// Calls visit(&CompileOptions::field, row) for every row of Options.def, in
  /// its order. The rows stay.
  template <typename Visitor> static void forEachOption(Visitor &&visit) {
#define OPTION(type, field, value, row)                                        \
  static const OptionRow field##Row = row;                                     \
  visit(&CompileOptions::field, field##Row);
#include "tpsp/Passes/Options/Options.def"
#undef OPTION
  }
};

} // namespace tpsp

#endif // TPSP_PASSES_OPTIONS_COMPILEOPTIONS_H
