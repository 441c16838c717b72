#include "Hover.h"

#include "Manual.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tpsp;
using namespace tpsp::lsp;
using llvm::StringRef;

/// ", in each of 12 calls": in how many calls of its function something is. For
/// a function that is called once, nothing. `compiled` calls were compiled; a
/// repetition's are the first, one between, and the last.
static std::string howOften(int64_t times, int64_t compiled, int64_t calls) {
  if (calls == 1)
    return times == 1 ? "" : fmt::format(", {} times", times);
  if (times % compiled == 0)
    return times == compiled ? fmt::format(", in each of {} calls", calls)
                             : fmt::format(", {} times in each of {} calls",
                                           times / compiled, calls);
  if (times < compiled && compiled == calls)
    return fmt::format(", in {} of {} calls", times, calls);
  return times == 1 ? fmt::format(", in one of {} calls", calls)
                    : fmt::format(", in all but some of {} calls", calls);
}

static int64_t callsAt(const Document &document, unsigned line) {
  const SourceFunction *function = document.text().functionAt(line);
  return function ? function->calls : 1;
}

static std::string kindText(const TensorFact &fact) {
  if (fact.extents.empty())
    return fact.element;
  return fmt::format("{}, {}", fact.element, fmt::join(fact.extents, " x "));
}

std::string tpsp::lsp::shortText(const FoundTensor &tensor) {
  if (tensor.facts.empty())
    return "";
  const TensorFact &first = tensor.facts.front();
  return fmt::format("[{}] {}", first.subscripts, kindText(first));
}

static std::string tensorText(const Document &document,
                              const SourceWord &word) {
  FoundTensor tensor = document.tensor(word.bare(), word.line);
  std::string text;
  bool alike = tensor.facts.size() == 1;
  for (const TensorFact &fact : tensor.facts)
    text += fmt::format("`{}[{}]`  {}, {} per rank{}\n\n", fact.name,
                        fact.subscripts, kindText(fact),
                        rt::bytesText(fact.localBytes),
                        alike ? ""
                              : howOften(fact.times, tensor.compiledCalls,
                                         callsAt(document, word.line)));
  return text;
}

static std::string collectiveText(const CollectiveFact &fact,
                                  const std::string &often) {
  std::string along = fact.row.index.empty() ? "" : " along " + fact.row.index;
  return fmt::format("- {}: **{}** `{}[{}]` -> `[{}]` over {}{}, {} per "
                     "rank{}: {}\n",
                     nameOf(fact.row.phase), nameOf(fact.row.kind), fact.tensor,
                     fact.from, fact.to, fmt::join(fact.row.axes, ","), along,
                     rt::bytesText(double(fact.row.bytes)), often,
                     fact.row.reason);
}

/// The collectives of a line; only those that move `name`, if one is given.
static std::string collectivesText(const Document &document, unsigned line,
                                   StringRef name = "") {
  std::string text;
  std::string gradient = "g[" + name.str() + "]";
  for (const CollectiveFact &fact : document.collectives(line))
    if (name.empty() || fact.tensor == name || fact.tensor == gradient)
      text += collectiveText(fact,
                             howOften(fact.times, document.compiledCalls(line),
                                      callsAt(document, line)));
  return text;
}

/// Whether the line defines the value: it stands before the line's "=".
static bool definesOnLine(const SourceText &text, const SourceWord &word) {
  for (const SourceWord &other : text.wordsOn(word.line)) {
    if (other.isSign("="))
      return other.begin > word.begin;
    if (other.kind != SourceWord::Value && !other.isSign(","))
      return false;
  }
  return false;
}

static std::string withCaveat(const Document &document,
                              const std::string &text) {
  StringRef caveat = document.caveat();
  return text.empty() || caveat.empty() ? text
                                        : fmt::format("{}\n{}\n", text, caveat);
}

static std::string valueText(const Document &document, const SourceWord &word) {
  std::string text = tensorText(document, word);
  text += definesOnLine(document.text(), word)
              ? collectivesText(document, word.line)
              : collectivesText(document, word.line, word.bare());
  return withCaveat(document, text);
}

/// The results of the line's operation, its collectives, and the manual.
static std::string operationText(const Document &document,
                                 const SourceWord &word) {
  std::string text;
  for (const SourceWord &other : document.text().wordsOn(word.line)) {
    if (other.isSign("="))
      break;
    if (other.kind == SourceWord::Value)
      text += tensorText(document, other);
  }
  text = withCaveat(document, text + collectivesText(document, word.line));
  std::string manual = manualOf(word.text).text;
  return manual.empty() ? text : text + "\n---\n" + manual;
}

static std::string axisText(const SourceText &text, StringRef name) {
  for (const SourceAxis &axis : text.axes())
    if (axis.name == name)
      return fmt::format("axis `{}`, {} ranks{}", axis.name, axis.size,
                         axis.role.empty() ? "" : ", role " + axis.role.str());
  return "";
}

static std::string symbolText(const SourceText &text, const SourceWord &word) {
  const SourceFunction *function = text.functionNamed(word.bare());
  return function
             ? fmt::format("function `@{}`, {} in the program", function->name,
                           rt::counted(function->calls, "time"))
             : axisText(text, word.bare());
}

/// A name that is no operation: an index, or an axis where the mesh is written.
static std::string nameText(const SourceText &text, StringRef name) {
  for (const SourceIndex &index : text.indices())
    if (index.name == name)
      return index.extent.empty()
                 ? fmt::format("index `{}`", name)
                 : fmt::format("index `{}`, extent {}", name, index.extent);
  return axisText(text, name);
}

std::string tpsp::lsp::hoverText(const Document &document,
                                 const SourceWord &word) {
  const SourceText &text = document.text();
  if (word.kind == SourceWord::Value)
    return valueText(document, word);
  if (word.kind == SourceWord::Symbol)
    return symbolText(text, word);
  if (word.kind == SourceWord::String)
    return nameText(text, word.text.trim('"'));
  if (word.kind != SourceWord::Name)
    return "";
  return text.operationOn(word.line) == &word ? operationText(document, word)
                                              : nameText(text, word.text);
}
