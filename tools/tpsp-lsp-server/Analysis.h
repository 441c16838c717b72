/// Compiles a program's text as far as its collectives, for an editor.
#ifndef TPSP_TOOLS_LSP_ANALYSIS_H
#define TPSP_TOOLS_LSP_ANALYSIS_H

#include "tpsp/Passes/Explain/LineFacts.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace tpsp::lsp {

struct Problem {
  /// From 1; 0 if the compiler names no place in this file.
  unsigned line = 0, column = 0;
  bool isError = true;
  /// With its notes, one a line.
  std::string message;
};

/// The results of compiling a text.
struct Analysis {
  std::vector<Problem> problems;
  /// Whether the text is a valid module. Otherwise there are no facts.
  bool parses = false;
  /// Tensors have the placements that were found, and collectives are those of
  /// both passes. If the program has errors after parsing, tensors are as
  /// written, and there are no collectives.
  LineFacts facts;
  /// How often each function's body was compiled, by its name. Repetitions are
  /// shortened.
  std::map<std::string, int64_t> compiledCalls;
};

/// Compiles `text`, which messages call `path`. Reads no file. Layers that are
/// repeated more than three times are compiled three times: the first, the last
/// and one between. So the time does not depend on their number, except with
/// stages.
Analysis analyse(llvm::StringRef path, llvm::StringRef text);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_ANALYSIS_H
