/// The options of a compilation, as plain values. They are declared in
/// Options.def. tpsp-opt's pipelines, tpsp-run and programs that call
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

  /// Return choices (results of comparing numbers, such as a router's experts),
  /// so that the reference can make the same ones.
  bool returnChoices = false;
  /// Return these values in the middle of the program, and their gradients.
  /// Names that are no such values are ignored.
  std::vector<std::string> innerValues;
  /// Compile what is left of the program without its layers (ModelParts.h).
  bool withoutLayers = false;
  /// Return how many choices of tokens found no place at their experts.
  bool countDropped = false;
  /// If not null, changes the program after it is placed and differentiated.
  /// For tests that plant mistakes which a run must notice.
  std::function<void(mlir::ModuleOp)> edit;
  /// If not null, is shown the program after collectives are inserted.
  std::function<void(mlir::ModuleOp)> withCollectives;

  /// Whether products and attention are chosen for a GPU's libraries.
  bool usesGpuLibraries() const { return forGpu || device == "cuda"; }
  /// Whether operations stay that a library computes in one call.
  bool keepsCalls() const {
    return attention == "fused" || attention == "ring";
  }

  /// Calls visit(&CompileOptions::field, row) for every row of Options.def, in
  /// its order. The rows live until the program ends.
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
