/// A text that is open in an editor, and what is known of it.
#ifndef TPSP_TOOLS_LSP_DOCUMENT_H
#define TPSP_TOOLS_LSP_DOCUMENT_H

#include "Analysis.h"
#include "tpsp/Dialect/Tpsp/Syntax/SourceText.h"

#include <memory>

namespace tpsp::lsp {

/// A tensor and the placements that it has in the calls of its function.
struct FoundTensor {
  std::vector<TensorFact> facts;
  /// The fact's `times` that mean "in every call".
  int64_t compiledCalls = 1;
};

/// While a text does not parse, facts are those of the last text that did.
/// Lines that did not change since then, at the beginning or the end, have
/// them.
class Document {
public:
  /// Compiles the text.
  Document(std::string path, std::string text);

  /// Takes the next text and compiles it.
  void update(std::string text);

  const SourceText &text() const { return *current; }
  const std::vector<Problem> &problems() const { return currentProblems; }

  /// A sentence about whose facts these are, if they are not the text's; else
  /// "".
  llvm::StringRef caveat() const;
  /// The facts about %name in the function that has `line` (from 0). Without
  /// facts if nothing is known.
  FoundTensor tensor(llvm::StringRef name, unsigned line) const;
  /// The collectives of a line.
  std::vector<CollectiveFact> collectives(unsigned line) const;
  /// How often the function that has `line` was compiled.
  int64_t compiledCalls(unsigned line) const;

private:
  const LineFact *factOf(unsigned line) const;

  std::string path;
  std::unique_ptr<SourceText> current;
  std::vector<Problem> currentProblems;
  /// The last text that parsed, and its facts; null before the first.
  std::unique_ptr<SourceText> parsed;
  Analysis known;
  /// Whether these facts are of `parsed` without its broken lines.
  bool isRepaired = false;
};

} // namespace tpsp::lsp

#endif // TPSP_TOOLS_LSP_DOCUMENT_H
