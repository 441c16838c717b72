#include "Completion.h"

#include "Hover.h"
#include "Manual.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::lsp;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::lsp::CompletionItem;
using llvm::lsp::CompletionItemKind;
using Items = std::vector<CompletionItem>;

static void add(Items &items, StringRef label, CompletionItemKind kind,
                const std::string &detail = "") {
  CompletionItem &item = items.emplace_back(label, kind);
  item.detail = detail;
}

/// The values that are defined before the line, without their sigil.
static Items valuesBefore(const Document &document, unsigned line) {
  Items items;
  const SourceText &text = document.text();
  const SourceFunction *function = text.functionAt(line);
  if (!function)
    return items;
  llvm::StringSet<> seen;
  for (const SourceWord &word :
       text.words().slice(function->begin, function->end - function->begin)) {
    if (word.line >= line && word.line > function->firstLine)
      break;
    if (word.kind == SourceWord::Value && word.line < line &&
        seen.insert(word.bare()).second)
      add(items, word.bare(), CompletionItemKind::Variable,
          shortText(document.tensor(word.bare(), line)));
  }
  return items;
}

static Items functionsOf(const SourceText &text) {
  Items items;
  for (const SourceFunction &function : text.functions())
    add(items, function.name, CompletionItemKind::Function);
  return items;
}

static Items axesOf(const SourceText &text) {
  Items items;
  for (const SourceAxis &axis : text.axes())
    add(items, axis.name, CompletionItemKind::EnumMember,
        fmt::format("{} ranks{}", axis.size.str(),
                    axis.role.empty() ? "" : ", " + axis.role.str()));
  return items;
}

static Items indicesOf(const SourceText &text) {
  Items items;
  for (const SourceIndex &index : text.indices())
    add(items, index.name, CompletionItemKind::Field,
        index.extent.empty() ? "" : "extent " + index.extent);
  return items;
}

/// The indices and the hole of a type's brackets.
static Items indicesAndHoles(const SourceText &text) {
  Items items = indicesOf(text);
  add(items, "?", CompletionItemKind::Keyword,
      "the placement is found by propagation");
  return items;
}

static Items attributesOf(StringRef operation) {
  Items items;
  if (const OperationWords *words = operationNamed(operation))
    for (const std::string &name : words->attributes)
      add(items, name, CompletionItemKind::Property);
  return items;
}

/// Attributes that a program's text may give an argument.
static Items argumentAttributes() {
  Items items;
  for (StringRef name :
       {tpsp::paramAttrName, tpsp::nameAttrName, tpsp::dataAttrName,
        tpsp::frozenAttrName, tpsp::belowAttrName, tpsp::meanAttrName,
        tpsp::deviationAttrName, tpsp::initialDeviationAttrName,
        tpsp::optimizerAttrName, tpsp::learningRateAttrName})
    add(items, name, CompletionItemKind::Property);
  return items;
}

/// Operations that stand at the beginning of a line alone.
static bool hasNoResult(StringRef operation) {
  return operation == "func" || operation == "mesh" || operation == "program";
}

static Items operationsOf(bool beginsLine) {
  Items items;
  for (const OperationWords &words : allOperations())
    if (!hasNoResult(words.name) || beginsLine)
      add(items, words.name, CompletionItemKind::Operator,
          manualOf(words.name).summary);
  add(items, "call", CompletionItemKind::Keyword, "call @function(%x)");
  add(items, "repeat", CompletionItemKind::Keyword,
      "repeat 12 @layer(%x) as \"layers.#.*\"");
  if (beginsLine)
    add(items, "return", CompletionItemKind::Keyword);
  return items;
}

static Items rolesOfAxes() {
  Items items;
  for (const char *role : {"data", "model", "stage"})
    add(items, role, CompletionItemKind::Keyword);
  return items;
}

namespace {

/// The words of a line before the place, and the one that is being written.
struct Before {
  llvm::SmallVector<SourceWord> words;
  /// The brackets that are open, outermost first: "{[".
  std::string open;
  /// The word at whose end the place is; empty if there is none.
  SourceWord written{SourceWord::Sign, {}, 0, 0, 0};

  StringRef last() const {
    return words.empty() ? StringRef() : words.back().text;
  }
  bool isIn(char bracket) const {
    return !open.empty() && open.back() == bracket;
  }
};

} // namespace

static Before wordsBefore(const SourceText &text, unsigned line,
                          unsigned column) {
  Before before;
  for (const SourceWord &word : text.wordsOn(line)) {
    if (word.begin >= column)
      break;
    bool isWritten = word.kind != SourceWord::Sign &&
                     (word.end >= column || word.isOpen) &&
                     !(word.kind == SourceWord::String && !word.isOpen &&
                       word.end == column);
    if (isWritten) {
      before.written = word;
      break;
    }
    before.words.push_back(word);
    if (word.kind != SourceWord::Sign)
      continue;
    if (StringRef("[{(<").contains(word.text))
      before.open += word.text.front();
    if (StringRef("]})>").contains(word.text) && !before.open.empty())
      before.open.pop_back();
  }
  return before;
}

/// In the text of a string: an index, except for names of weights.
static Items inString(const SourceText &text, const Before &before) {
  bool isName =
      before.last() == "as" ||
      (!before.words.empty() && before.words.back().kind == SourceWord::Value);
  return isName ? Items() : indicesOf(text);
}

static Items afterAt(const SourceText &text, const Before &before) {
  bool isSubscript = before.isIn('[') || before.isIn('<') ||
                     (!before.words.empty() &&
                      before.words.back().end == before.written.begin);
  return isSubscript ? axesOf(text) : functionsOf(text);
}

static Items inBraces(const SourceText &text, const Before &before,
                      unsigned line) {
  if (before.last() != "{" && before.last() != ",")
    return {};
  const SourceWord *operation = text.operationOn(line);
  bool isOperation = operation && operationNamed(operation->text) &&
                     !hasNoResult(operation->text);
  return isOperation ? attributesOf(operation->text) : argumentAttributes();
}

static bool isMesh(const Before &before) {
  return !before.words.empty() && (before.words.front().text == "mesh" ||
                                   before.words.front().text == "tpsp.mesh");
}

Items tpsp::lsp::completionsAt(const Document &document, unsigned line,
                               unsigned column) {
  const SourceText &text = document.text();
  Before before = wordsBefore(text, line, column);
  switch (before.written.kind) {
  case SourceWord::Value:
    return valuesBefore(document, line);
  case SourceWord::Symbol:
    return afterAt(text, before);
  case SourceWord::String:
    return inString(text, before);
  case SourceWord::Number:
    return {};
  default:
    break;
  }
  if (isMesh(before))
    return before.last() == ":" ? rolesOfAxes() : Items();
  if (before.isIn('['))
    return indicesAndHoles(text);
  if (before.isIn('{'))
    return inBraces(text, before, line);
  bool beginsLine = before.words.empty();
  bool isOperation = beginsLine || before.last() == "=";
  return isOperation ? operationsOf(beginsLine) : Items();
}
