#include "tpsp/Dialect/Tpsp/Syntax/SourceText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace tpsp;
using llvm::ArrayRef;
using llvm::StringRef;

static bool isPartOfName(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

/// The number of bytes of the word that `rest` begins with, and its kind.
static size_t measure(StringRef rest, SourceWord::Kind &kind) {
  char first = rest.front();
  if (first == '"') {
    kind = SourceWord::String;
    size_t close = 1;
    while (close < rest.size() && rest[close] != '"')
      close += rest[close] == '\\' ? 2 : 1;
    return std::min(close + 1, rest.size());
  }
  size_t sigil = first == '%' || first == '@' ? 1 : 0;
  size_t size = rest.drop_front(sigil).take_while(isPartOfName).size();
  if (sigil || size > 0) {
    kind = first == '%'           ? SourceWord::Value
           : first == '@'         ? SourceWord::Symbol
           : llvm::isDigit(first) ? SourceWord::Number
                                  : SourceWord::Name;
    return sigil + size;
  }
  kind = SourceWord::Sign;
  return rest.starts_with("->") ? 2 : 1;
}

SourceText::SourceText(std::string text) : content(std::move(text)) {
  split();
  findFunctions();
  findHeads();
  countCalls();
}

void SourceText::split() {
  llvm::SmallVector<StringRef> lines;
  StringRef(content).split(lines, '\n');
  allLines.assign(lines.begin(), lines.end());
  for (auto [number, line] : llvm::enumerate(allLines)) {
    firstOnLine.push_back(allWords.size());
    for (size_t at = 0; at < line.size();) {
      StringRef rest = line.drop_front(at);
      if (rest.starts_with("//"))
        break;
      if (llvm::isSpace(rest.front())) {
        ++at;
        continue;
      }
      SourceWord word{SourceWord::Sign, {}, unsigned(number), unsigned(at), 0};
      size_t size = measure(rest, word.kind);
      word.text = rest.take_front(size);
      word.end = unsigned(at + size);
      word.isOpen = word.kind == SourceWord::String &&
                    (size == 1 || word.text.back() != '"');
      allWords.push_back(word);
      at += size;
    }
  }
  firstOnLine.push_back(allWords.size());
}

StringRef SourceText::line(unsigned number) const {
  return number < allLines.size() ? allLines[number] : StringRef();
}

ArrayRef<SourceWord> SourceText::wordsOn(unsigned line) const {
  if (line + 1 >= firstOnLine.size())
    return {};
  return ArrayRef<SourceWord>(allWords).slice(
      firstOnLine[line], firstOnLine[line + 1] - firstOnLine[line]);
}

const SourceWord *SourceText::wordAt(unsigned line, unsigned column) const {
  const SourceWord *before = nullptr;
  for (const SourceWord &word : wordsOn(line)) {
    bool isSign = word.kind == SourceWord::Sign;
    if (word.begin <= column && column < word.end && !(before && isSign))
      return &word;
    if (word.end == column && !isSign)
      before = &word;
  }
  return before;
}

void SourceText::findFunctions() {
  for (size_t i = 0; i < allWords.size(); ++i) {
    if (allWords[i].text != "func" && allWords[i].text != "func.func")
      continue;
    size_t name = i + 1;
    while (name < allWords.size() && allWords[name].kind == SourceWord::Name)
      ++name;
    if (name == allWords.size() || allWords[name].kind != SourceWord::Symbol)
      continue;
    if (!allFunctions.empty()) {
      allFunctions.back().end = i;
      allFunctions.back().lastLine =
          std::max(allFunctions.back().firstLine, allWords[i - 1].line);
    }
    allFunctions.push_back({allWords[name].bare(), name, i, allWords.size(),
                            allWords[i].line, unsigned(allLines.size())});
  }
}

const SourceFunction *SourceText::functionAt(unsigned line) const {
  for (const SourceFunction &function : allFunctions)
    if (function.firstLine <= line && line <= function.lastLine)
      return &function;
  return nullptr;
}

const SourceFunction *SourceText::functionNamed(StringRef name) const {
  for (const SourceFunction &function : allFunctions)
    if (function.name == name)
      return &function;
  return nullptr;
}

std::vector<const SourceWord *> SourceText::placesOf(StringRef name,
                                                     unsigned line) const {
  std::vector<const SourceWord *> places;
  const SourceFunction *function = functionAt(line);
  if (!function)
    return places;
  for (size_t i = function->begin; i < function->end; ++i)
    if (allWords[i].kind == SourceWord::Value && allWords[i].bare() == name)
      places.push_back(&allWords[i]);
  return places;
}

std::vector<const SourceWord *>
SourceText::placesOfSymbol(StringRef name) const {
  std::vector<const SourceWord *> places;
  for (const SourceWord &word : allWords)
    if (word.kind == SourceWord::Symbol && word.bare() == name)
      places.push_back(&word);
  return places;
}

const SourceWord *SourceText::operationOn(unsigned line) const {
  ArrayRef<SourceWord> words = wordsOn(line);
  while (!words.empty() &&
         (words.front().kind == SourceWord::Value ||
          words.front().isSign(",") || words.front().isSign("=")))
    words = words.drop_front();
  bool isOperation = !words.empty() && words.front().kind == SourceWord::Name;
  return isOperation ? &words.front() : nullptr;
}

/// Reads `<b = 8, s = 64, t = s>` from the word after `tpsp.program`.
void SourceText::readExtents(size_t word) {
  llvm::StringMap<std::string> extents;
  while (word < allWords.size() && !allWords[word].isSign("<") &&
         !allWords[word].isSign("{"))
    ++word;
  for (; word + 2 < allWords.size() && !allWords[word].isSign(">") &&
         !allWords[word].isSign("{");
       ++word) {
    if (allWords[word].kind != SourceWord::Name ||
        !allWords[word + 1].isSign("="))
      continue;
    StringRef name = allWords[word].text, value = allWords[word + 2].text;
    auto known = extents.find(value);
    std::string extent = known == extents.end() ? value.str() : known->second;
    if (extents.try_emplace(name, extent).second)
      allIndices.push_back({name, extent});
    word += 2;
  }
}

/// Reads `<dp = 2 : data, tp = 4>` from the word after `mesh`.
void SourceText::readAxes(size_t word) {
  if (word + 1 >= allWords.size() ||
      allWords[word].kind != SourceWord::Symbol ||
      !allWords[word + 1].isSign("<"))
    return;
  for (word += 2; word + 2 < allWords.size() && !allWords[word].isSign(">");
       ++word) {
    if (allWords[word].kind != SourceWord::Name ||
        !allWords[word + 1].isSign("="))
      continue;
    SourceAxis axis{allWords[word].text, allWords[word + 2].text, {}};
    word += 2;
    if (word + 2 < allWords.size() && allWords[word + 1].isSign(":")) {
      axis.role = allWords[word + 2].text;
      word += 2;
    }
    allAxes.push_back(axis);
  }
}

/// Programs in long form have their indices in types alone: #tpsp.idx<b, s@tp>.
void SourceText::findWrittenIndices() {
  llvm::StringSet<> known;
  for (size_t i = 1; i + 1 < allWords.size(); ++i) {
    if (allWords[i].text != "tpsp.idx" || !allWords[i - 1].isSign("#"))
      continue;
    for (size_t k = i + 2; k < allWords.size() && !allWords[k].isSign(">"); ++k)
      if (allWords[k].kind == SourceWord::Name &&
          known.insert(allWords[k].text).second)
        allIndices.push_back({allWords[k].text, ""});
  }
}

void SourceText::findHeads() {
  for (size_t i = 0; i < allWords.size(); ++i) {
    if (allWords[i].text == "tpsp.program" && allIndices.empty())
      readExtents(i + 1);
    if (allWords[i].text == "mesh" || allWords[i].text == "tpsp.mesh")
      readAxes(i + 1);
  }
  if (allIndices.empty())
    findWrittenIndices();
}

/// A callee stands above its callers. So the calls of callers are known first.
void SourceText::countCalls() {
  llvm::StringMap<int64_t> calls;
  for (SourceFunction &function : llvm::reverse(allFunctions)) {
    if (auto found = calls.find(function.name); found != calls.end())
      function.calls = found->second;
    for (size_t i = function.nameWord + 1; i < function.end; ++i) {
      if (allWords[i].kind != SourceWord::Symbol ||
          !functionNamed(allWords[i].bare()))
        continue;
      const SourceWord &before = allWords[i - 1];
      int64_t times = 1;
      if (before.kind == SourceWord::Number &&
          before.text.getAsInteger(10, times))
        times = 1;
      int64_t &sum = calls[allWords[i].bare()];
      sum = llvm::SaturatingMultiplyAdd(
          uint64_t(times), uint64_t(function.calls), uint64_t(sum));
    }
  }
}
