/// The words that may stand at a place of a program's text.
#ifndef TPSP_TOOLS_LSP_COMPLETION_H
#define TPSP_TOOLS_LSP_COMPLETION_H

#include "Document.h"

#include "llvm/Support/LSP/Protocol.h"

namespace tpsp::lsp {

/// The words that may stand at `column` (in bytes) of a line. After their
/// sigils these are values, functions and mesh axes. Brackets and strings have
/// the program's indices, and braces the operation's attributes. Looks at the
/// words before the place alone, so it also works in a text with errors.
std::vector<llvm::lsp::CompletionItem>
completionsAt(const Document &document, unsigned line, unsigned column);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_COMPLETION_H
