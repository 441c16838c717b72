/// A text without the lines that do not parse.
#ifndef TPSP_TOOLS_LSP_REPAIR_H
#define TPSP_TOOLS_LSP_REPAIR_H

#include "Analysis.h"

#include <optional>

namespace tpsp::lsp {

/// Blanks the lines that the parser rejects, and lines that use their names, in
/// a text whose errors are `found`. Lines and columns of the others stay.
/// Returns nullopt if the text does not parse then, either.
std::optional<std::string> withoutBrokenLines(llvm::StringRef path,
                                              llvm::StringRef text,
                                              const Analysis &found);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_REPAIR_H
