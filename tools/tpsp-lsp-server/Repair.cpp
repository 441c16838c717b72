#include "Repair.h"

#include "tpsp/Dialect/Tpsp/Syntax/SourceText.h"

#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

using namespace tpsp;
using namespace tpsp::lsp;
using llvm::ArrayRef;
using llvm::StringRef;

/// The most lines with errors that are left out, each of which costs a parse.
static constexpr int mostErrors = 20;

namespace {

/// A statement of a function's body, as lines.
struct Statement {
  unsigned first, last;
  std::vector<StringRef> defines, uses, calls;
  bool isReturn = false;
};

/// Leaves statements out of a text, and what depends on them.
class Repair {
public:
  explicit Repair(StringRef original) : source(original.str()) {
    for (StringRef line : source.lines())
      lines.push_back(line.str());
    for (const SourceFunction &function : source.functions())
      bodies.push_back(statementsOf(function));
  }

  /// Leaves out the statement that has a line; false if the line is of none.
  bool leaveOut(unsigned line) {
    for (auto [number, body] : llvm::enumerate(bodies))
      for (const Statement &statement : body)
        if (statement.first <= line && line <= statement.last) {
          bool isNew = leaveOut(number, statement);
          cascade();
          return isNew;
        }
    return false;
  }

  /// The text: functions that lost a result return nothing.
  std::string text() const { return fmt::format("{}", fmt::join(lines, "\n")); }

  /// Lets functions that lost a result return every value that nothing uses.
  /// Otherwise their statements would be dead. `facts` are of text().
  void returnLeaves(const tpsp::LineFacts &facts) {
    for (size_t number : cut) {
      std::vector<std::string> names, types;
      for (const Statement &statement : bodies[number]) {
        auto fact = facts.find(statement.first + 1);
        if (fact == facts.end() || isLeftOut(number, statement))
          continue;
        for (const tpsp::TensorFact &tensor : fact->second.tensors)
          if (!isUsed(number, tensor.name)) {
            names.push_back("%" + tensor.name);
            types.push_back(
                fmt::format("{}[{}]", tensor.element, tensor.subscripts));
          }
      }
      if (!names.empty())
        writeEnds(number, fmt::format("return {}", fmt::join(names, ", ")),
                  fmt::format("-> ({}) {{", fmt::join(types, ", ")));
    }
  }

private:
  std::vector<Statement> statementsOf(const SourceFunction &function) const {
    std::vector<Statement> statements;
    for (unsigned line = bodyLine(function); line <= function.lastLine;
         ++line) {
      ArrayRef<SourceWord> words = source.wordsOn(line);
      if (words.empty())
        continue;
      if (words.front().isSign("}"))
        break;
      bool begins = words.front().kind == SourceWord::Value ||
                    words.front().text == "return" || statements.empty();
      if (begins)
        statements.push_back({line, line, {}, {}, {}});
      addWords(statements.back(), words, begins);
      statements.back().last = line;
    }
    return statements;
  }

  /// The line after the one that ends the function's head.
  unsigned bodyLine(const SourceFunction &function) const {
    for (size_t i = function.nameWord; i < function.end; ++i) {
      const SourceWord &word = source.words()[i];
      bool endsLine = i + 1 == source.words().size() ||
                      source.words()[i + 1].line > word.line;
      if (word.isSign("{") && endsLine)
        return word.line + 1;
    }
    return function.lastLine + 1;
  }

  static void addWords(Statement &statement, ArrayRef<SourceWord> words,
                       bool begins) {
    bool isLeft = begins && words.front().kind == SourceWord::Value;
    statement.isReturn |= begins && words.front().text == "return";
    for (const SourceWord &word : words) {
      isLeft &= !word.isSign("=");
      if (word.kind == SourceWord::Value)
        (isLeft ? statement.defines : statement.uses).push_back(word.bare());
      if (word.kind == SourceWord::Symbol)
        statement.calls.push_back(word.bare());
    }
  }

  bool isLeftOut(size_t number, const Statement &statement) const {
    return leftOut.count({number, statement.first});
  }

  bool isUsed(size_t number, StringRef name) const {
    for (const Statement &statement : bodies[number])
      if (!statement.isReturn && !isLeftOut(number, statement) &&
          llvm::is_contained(statement.uses, name))
        return true;
    return false;
  }

  bool leaveOut(size_t number, const Statement &statement) {
    if (!leftOut.insert({number, statement.first}).second)
      return false;
    for (unsigned line = statement.first; line <= statement.last; ++line)
      lines[line].clear();
    for (StringRef name : statement.defines)
      gone[number].insert(name);
    if (statement.isReturn && cut.insert(number).second)
      writeEnds(number, "return", "{");
    return true;
  }

  /// Whether a statement needs a value or a function that is not there.
  bool dependsOnGone(size_t number, const Statement &statement) {
    auto isGone = [&](StringRef name) { return gone[number].contains(name); };
    auto isCut = [&](StringRef name) {
      for (size_t callee : cut)
        if (source.functions()[callee].name == name)
          return true;
      return false;
    };
    return llvm::any_of(statement.uses, isGone) ||
           llvm::any_of(statement.calls, isCut);
  }

  /// Functions are above their callers, so one walk over all is enough.
  void cascade() {
    for (auto [number, body] : llvm::enumerate(bodies))
      for (const Statement &statement : body)
        if (dependsOnGone(number, statement))
          leaveOut(number, statement);
  }

  /// Writes a function's return, and the end of its head in place of its
  /// results. A function that is called is no longer called, so it must not be
  /// private.
  void writeEnds(size_t number, const std::string &returned,
                 const std::string &results) {
    const SourceFunction &function = source.functions()[number];
    const std::vector<Statement> &body = bodies[number];
    if (body.empty() || !body.back().isReturn)
      return;
    lines[body.back().first] = returned;
    unsigned headLine = bodyLine(function) - 1;
    std::string &head = lines[headLine];
    size_t arrow = head.rfind("->"), brace = head.rfind('{');
    head.erase(arrow != std::string::npos ? arrow : brace);
    head += results;
    std::string &first = lines[function.firstLine];
    if (size_t at = first.find("private "); at != std::string::npos)
      first.replace(at, 7, 7, ' ');
  }

  SourceText source;
  std::vector<std::string> lines;
  /// By the function's number.
  std::vector<std::vector<Statement>> bodies;
  std::map<size_t, llvm::StringSet<>> gone;
  std::set<size_t> cut;
  std::set<std::pair<size_t, unsigned>> leftOut;
};

} // namespace

/// Leaves out the statement of the first error; false if it is of none.
static bool leaveOutFirst(Repair &repair, const Analysis &found) {
  for (const Problem &problem : found.problems)
    if (problem.isError)
      return problem.line > 0 && repair.leaveOut(problem.line - 1);
  return false;
}

std::optional<std::string>
tpsp::lsp::withoutBrokenLines(StringRef path, StringRef text,
                              const Analysis &found) {
  Repair repair(text);
  Analysis last = found;
  for (int errors = 0; !last.parses; ++errors) {
    if (errors == mostErrors || !leaveOutFirst(repair, last))
      return std::nullopt;
    last = analyse(path, repair.text());
  }
  repair.returnLeaves(last.facts);
  return repair.text();
}
