#include "KeptText.h"

#include "tpsp/Dialect/Tpsp/Syntax/SourceText.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

using namespace tpsp;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

/// The subscripts of a type, "[b, s@tp, d]", at their place in a text.
struct Bracket {
  /// The names of what has this type: "f %x", "f -> 0", "f %y 0". Arguments may
  /// share one type.
  std::vector<std::string> names;
  size_t begin, end;
};

/// Finds the types of a program in short form.
class BracketFinder {
public:
  explicit BracketFinder(const SourceText &text) : text(text) {}

  std::vector<Bracket> find() {
    for (const SourceFunction &function : text.functions()) {
      name = function.name.str();
      size_t body = readHead(function);
      readBody(body, function.end);
    }
    return std::move(brackets);
  }

private:
  const SourceWord &word(size_t i) const { return text.words()[i]; }
  size_t offset(size_t i) const {
    return word(i).text.data() - text.text().data();
  }

  /// The word after the bracket that begins at `i`.
  size_t add(size_t i, std::vector<std::string> names) {
    size_t close = i;
    while (close + 1 < text.words().size() && !word(close).isSign("]"))
      ++close;
    brackets.push_back({std::move(names), offset(i), offset(close) + 1});
    return close + 1;
  }

  /// The types of arguments and results. Returns the first word of the body.
  size_t readHead(const SourceFunction &function) {
    std::vector<std::string> group;
    int depth = 0, results = 0;
    bool isType = false, isResult = false;
    for (size_t i = function.nameWord + 1; i < function.end;) {
      const SourceWord &each = word(i);
      depth += each.isSign("{") ? 1 : each.isSign("}") ? -1 : 0;
      bool endsLine = i + 1 == function.end || word(i + 1).line > each.line;
      if (each.isSign("{") && depth == 1 && endsLine)
        return i + 1;
      if (depth == 0 && each.kind == SourceWord::Value)
        group.push_back(name + " " + each.text.str());
      isResult |= depth == 0 && each.isSign("->");
      isType |= depth == 0 && each.isSign(":");
      if (depth != 0 || !each.isSign("[") || !(isType || isResult)) {
        ++i;
        continue;
      }
      if (isResult)
        group = {fmt::format("{} -> {}", name, results++)};
      i = add(i, std::move(group));
      group.clear();
      isType = false;
    }
    return function.end;
  }

  /// The types after the arrows of statements.
  void readBody(size_t begin, size_t end) {
    std::string defined;
    int depth = 0, number = 0;
    bool isType = false;
    for (size_t i = begin; i < end;) {
      const SourceWord &each = word(i);
      bool beginsLine = i == 0 || word(i - 1).line < each.line;
      if (beginsLine && each.kind == SourceWord::Value) {
        defined = each.text.str();
        depth = number = 0;
        isType = false;
      }
      depth += each.isSign("{") ? 1 : each.isSign("}") ? -1 : 0;
      isType |= depth == 0 && each.isSign("->");
      if (isType && each.isSign("["))
        i = add(i, {fmt::format("{} {} {}", name, defined, number++)});
      else
        ++i;
    }
  }

  const SourceText &text;
  std::string name;
  std::vector<Bracket> brackets;
};

/// A part of a text, and what stands there instead.
struct Replacement {
  size_t begin, end;
  std::string text;
};

/// A part of a text at its place: the mesh's axes, "<dp = 2 : data>", or an
/// extent.
struct PlacedPart {
  size_t begin = 0, end = 0;
  std::string text;
};

} // namespace

static std::optional<PlacedPart> axesOf(const SourceText &source) {
  ArrayRef<SourceWord> words = source.words();
  const char *begin = source.text().data();
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i].text != "mesh" || words[i + 1].kind != SourceWord::Symbol ||
        !words[i + 2].isSign("<"))
      continue;
    size_t close = i + 2;
    while (close + 1 < words.size() && !words[close].isSign(">"))
      ++close;
    PlacedPart axes;
    axes.begin = words[i + 2].text.data() - begin;
    axes.end = words[close].text.data() + 1 - begin;
    axes.text = source.text().substr(axes.begin, axes.end - axes.begin);
    return axes;
  }
  return std::nullopt;
}

/// The place after the "{" of `tpsp.program <...> {`.
static std::optional<size_t> bodyOf(const SourceText &source) {
  bool isInHead = false;
  for (const SourceWord &word : source.words()) {
    isInHead |= word.text == "tpsp.program";
    if (isInHead && word.isSign("{"))
      return word.text.data() + 1 - source.text().data();
  }
  return std::nullopt;
}

/// Replaces the axes, or adds a mesh to a program that has none.
static void takeMesh(const SourceText &placed, const SourceText &written,
                     std::vector<Replacement> &replacements) {
  std::optional<PlacedPart> from = axesOf(placed), to = axesOf(written);
  if (from && to)
    replacements.push_back({to->begin, to->end, from->text});
  std::optional<size_t> body = bodyOf(written);
  if (from && !to && body)
    replacements.push_back({*body, *body, "\nmesh @mesh " + from->text});
}

static std::string replaced(std::string text,
                            std::vector<Replacement> replacements) {
  std::sort(replacements.begin(), replacements.end(),
            [](const Replacement &one, const Replacement &other) {
              return one.begin > other.begin;
            });
  for (const Replacement &each : replacements)
    text.replace(each.begin, each.end - each.begin, each.text);
  return text;
}

/// The number of each index in `tpsp.program <b = 8, t = s>`.
static std::map<std::string, PlacedPart> extentsOf(const SourceText &source) {
  std::map<std::string, PlacedPart> extents;
  ArrayRef<SourceWord> words = source.words();
  const char *begin = source.text().data();
  size_t i = 0;
  while (i < words.size() && words[i].text != "tpsp.program")
    ++i;
  for (; i + 2 < words.size() && !words[i].isSign(">"); ++i)
    if (words[i + 1].isSign("=") && words[i + 2].kind == SourceWord::Number) {
      StringRef number = words[i + 2].text;
      size_t at = number.data() - begin;
      extents[words[i].text.str()] = {at, at + number.size(), number.str()};
    }
  return extents;
}

static void takeExtents(const SourceText &placed, const SourceText &written,
                        std::vector<Replacement> &replacements) {
  std::map<std::string, PlacedPart> from = extentsOf(placed);
  for (const auto &[index, to] : extentsOf(written))
    if (auto found = from.find(index); found != from.end())
      replacements.push_back({to.begin, to.end, found->second.text});
}

/// The subscripts of the types in a text, by the names of what has them.
static void addSubscripts(const SourceText &text,
                          std::map<std::string, std::string> &known) {
  for (const Bracket &bracket : BracketFinder(text).find())
    for (const std::string &name : bracket.names)
      known[name] =
          text.text().substr(bracket.begin, bracket.end - bracket.begin);
}

std::optional<std::string> tpsp::withSubscriptsOf(const PlacedForms &placed,
                                                  StringRef written) {
  SourceText from(placed.brief), to(written.str());
  if (!bodyOf(to))
    return std::nullopt;
  std::map<std::string, std::string> known;
  addSubscripts(SourceText(placed.whole), known);
  addSubscripts(from, known);
  std::vector<Replacement> replacements;
  takeMesh(from, to, replacements);
  takeExtents(from, to, replacements);
  for (const Bracket &bracket : BracketFinder(to).find()) {
    std::string text =
        to.text().substr(bracket.begin, bracket.end - bracket.begin);
    for (const std::string &name : bracket.names)
      if (auto found = known.find(name); found != known.end()) {
        if (name != bracket.names.front() && found->second != text)
          return std::nullopt;
        text = found->second;
      }
    replacements.push_back({bracket.begin, bracket.end, text});
  }
  return replaced(to.text(), std::move(replacements));
}
