#include "Document.h"

#include "Repair.h"

using namespace tpsp;
using namespace tpsp::lsp;
using llvm::ArrayRef;
using llvm::StringRef;

Document::Document(std::string path, std::string text) : path(std::move(path)) {
  update(std::move(text));
}

void Document::update(std::string text) {
  Analysis next = analyse(path, text);
  currentProblems = next.problems;
  current = std::make_unique<SourceText>(text);
  bool isBroken = !next.parses;
  if (isBroken && (!parsed || isRepaired))
    if (std::optional<std::string> rest = withoutBrokenLines(path, text, next))
      next = analyse(path, *rest);
  if (!next.parses)
    return;
  isRepaired = isBroken;
  // The lines of a text without its broken lines are those of the text.
  parsed = std::make_unique<SourceText>(std::move(text));
  known = std::move(next);
}

StringRef Document::caveat() const {
  if (!parsed || (!isRepaired && parsed->text() == current->text()))
    return "";
  return isRepaired ? "This is of the program without the lines that do not "
                      "parse, and without those that need them."
                    : "The program does not parse. This is of the last text "
                      "that did.";
}

/// The line of `before` that is line `line` of `after`, if the two texts are
/// alike up to it or from it on.
static std::optional<unsigned> lineBefore(ArrayRef<StringRef> before,
                                          ArrayRef<StringRef> after,
                                          unsigned line) {
  auto isAlikeUpTo = [&](unsigned end) {
    return end <= before.size() && end <= after.size() &&
           before.take_front(end) == after.take_front(end);
  };
  if (isAlikeUpTo(line + 1))
    return line;
  size_t rest = after.size() - std::min<size_t>(line, after.size());
  if (rest == 0 || rest > before.size() ||
      before.take_back(rest) != after.take_back(rest))
    return std::nullopt;
  return unsigned(before.size() - rest);
}

const tpsp::LineFact *Document::factOf(unsigned line) const {
  if (!parsed)
    return nullptr;
  std::optional<unsigned> then =
      lineBefore(parsed->lines(), current->lines(), line);
  auto found = then ? known.facts.find(*then + 1) : known.facts.end();
  return found == known.facts.end() ? nullptr : &found->second;
}

int64_t Document::compiledCalls(unsigned line) const {
  const SourceFunction *function = current->functionAt(line);
  auto found = function ? known.compiledCalls.find(function->name.str())
                        : known.compiledCalls.end();
  return found == known.compiledCalls.end() ? 1 : found->second;
}

/// The value that a call returns as the result `place`: of `%y = repeat 2
/// @f(%x)` it is the %z of @f's `return %z`. Null if the line calls nothing.
static const SourceWord *returnedValue(const SourceText &text,
                                       const SourceWord &place) {
  const SourceFunction *callee = nullptr;
  size_t number = 0;
  for (const SourceWord &word : text.wordsOn(place.line)) {
    if (word.kind == SourceWord::Value && word.end <= place.begin)
      ++number;
    if (word.kind == SourceWord::Symbol && !callee)
      callee = text.functionNamed(word.bare());
  }
  // A function in short form stands above its callers.
  if (!callee || callee->lastLine >= place.line)
    return nullptr;
  const SourceWord *found = nullptr;
  for (unsigned line = callee->firstLine; line <= callee->lastLine; ++line) {
    const SourceWord *operation = text.operationOn(line);
    if (!operation || !operation->text.ends_with("return"))
      continue;
    llvm::ArrayRef<SourceWord> values = text.wordsOn(line).drop_front();
    if (number * 2 < values.size())
      found = &values[number * 2];
  }
  return found;
}

FoundTensor Document::tensor(StringRef name, unsigned line) const {
  FoundTensor found;
  std::vector<const SourceWord *> places = current->placesOf(name, line);
  if (places.empty())
    return found;
  if (const LineFact *fact = factOf(places.front()->line))
    for (const TensorFact &tensor : fact->tensors)
      if (tensor.name == name)
        found.facts.push_back(tensor);
  found.compiledCalls = compiledCalls(line);
  if (!found.facts.empty())
    return found;
  if (const SourceWord *value = returnedValue(*current, *places.front())) {
    found = tensor(value->bare(), value->line);
    for (TensorFact &fact : found.facts)
      fact.name = name.str();
  }
  return found;
}

std::vector<tpsp::CollectiveFact> Document::collectives(unsigned line) const {
  const LineFact *fact = factOf(line);
  return fact ? fact->collectives : std::vector<CollectiveFact>();
}
