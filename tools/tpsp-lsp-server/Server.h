/// The language server: messages of an editor, answered from documents.
#ifndef TPSP_TOOLS_LSP_SERVER_H
#define TPSP_TOOLS_LSP_SERVER_H

#include "llvm/Support/Error.h"
#include "llvm/Support/LSP/Transport.h"

namespace tpsp::lsp {

/// Answers messages until the editor says `exit` or the input ends. Fails if
/// the input cannot be read, or ends before `shutdown`.
llvm::Error serve(llvm::lsp::JSONTransport &transport);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_SERVER_H
