/// A program's text as its author wrote it: words and their places, functions,
/// indices and axes. Reads text that does not parse, too.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_SOURCETEXT_H
#define TPSP_DIALECT_TPSP_SYNTAX_SOURCETEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp {

/// A token. Lines and columns (in bytes) are from 0.
struct SourceWord {
  enum Kind { Value, Symbol, Name, Number, String, Sign };
  Kind kind;
  /// With its sigil or quotes: "%x", "@layer", "einsum", "\"s\"", "->".
  llvm::StringRef text;
  unsigned line, begin, end;
  /// A string without its second quote.
  bool isOpen = false;

  llvm::StringRef bare() const { return text.drop_front(); }
  bool isSign(llvm::StringRef sign) const {
    return kind == Sign && text == sign;
  }
};

struct SourceFunction {
  llvm::StringRef name;
  /// The word @name, and the words of the whole function.
  size_t nameWord, begin, end;
  /// Its lines, the last one included.
  unsigned firstLine, lastLine;
  /// How often its body is part of the program: 12 for `repeat 12`.
  int64_t calls = 1;
};

struct SourceIndex {
  llvm::StringRef name;
  /// "256"; empty if the text has none.
  std::string extent;
};

struct SourceAxis {
  llvm::StringRef name, size, role;
};

class SourceText {
public:
  explicit SourceText(std::string text);
  SourceText(const SourceText &) = delete;
  SourceText &operator=(const SourceText &) = delete;

  const std::string &text() const { return content; }
  llvm::ArrayRef<llvm::StringRef> lines() const { return allLines; }
  /// The line, or "" after the last.
  llvm::StringRef line(unsigned number) const;
  llvm::ArrayRef<SourceWord> words() const { return allWords; }
  llvm::ArrayRef<SourceWord> wordsOn(unsigned line) const;
  /// The word that has the column, or ends at it.
  const SourceWord *wordAt(unsigned line, unsigned column) const;

  llvm::ArrayRef<SourceFunction> functions() const { return allFunctions; }
  const SourceFunction *functionAt(unsigned line) const;
  const SourceFunction *functionNamed(llvm::StringRef name) const;
  /// Every place of %name in the function that has `line`. The first is where
  /// it is defined.
  std::vector<const SourceWord *> placesOf(llvm::StringRef name,
                                           unsigned line) const;
  /// Every place of @name.
  std::vector<const SourceWord *> placesOfSymbol(llvm::StringRef name) const;
  /// The operation of a line, "einsum" or "tpsp.einsum"; null if it has none.
  const SourceWord *operationOn(unsigned line) const;

  llvm::ArrayRef<SourceIndex> indices() const { return allIndices; }
  llvm::ArrayRef<SourceAxis> axes() const { return allAxes; }

private:
  void split();
  void findFunctions();
  void findHeads();
  void readExtents(size_t word);
  void readAxes(size_t word);
  void findWrittenIndices();
  void countCalls();

  std::string content;
  std::vector<llvm::StringRef> allLines;
  std::vector<SourceWord> allWords;
  /// The first word of each line, and the number of words.
  std::vector<size_t> firstOnLine;
  std::vector<SourceFunction> allFunctions;
  std::vector<SourceIndex> allIndices;
  std::vector<SourceAxis> allAxes;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_SOURCETEXT_H
