/// The reference of operations (docs/reference/Tpsp.md), by their names.
#ifndef TPSP_TOOLS_LSP_MANUAL_H
#define TPSP_TOOLS_LSP_MANUAL_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tpsp::lsp {

struct ManualPage {
  /// "The sum of any number of tensors"
  std::string summary;
  /// The summary and what the reference says below it, as Markdown.
  std::string text;
};

/// The page of "add" or "tpsp.add"; empty for other words.
ManualPage manualOf(llvm::StringRef operation);

struct OperationWords {
  /// Without the dialect: "add".
  std::string name;
  /// The names of its attributes.
  std::vector<std::string> attributes;
};

/// All operations of a program's text, by name, in alphabetical order. Found
/// once in a process.
const std::vector<OperationWords> &allOperations();

/// The operation "add" or "tpsp.add"; null for other words.
const OperationWords *operationNamed(llvm::StringRef name);

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_MANUAL_H
