#include "tpsp/Abi/JsonFault.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace tpsp;
using Json = nlohmann::json;

namespace {

/// Follows the reader, and knows the place at which the reader fails.
class FaultLocator final : public nlohmann::json_sax<Json> {
public:
  explicit FaultLocator(size_t deepest) : deepest(deepest) {}

  /// The number of characters that had been read, or 0.
  size_t position = 0;
  /// Whether the token is a number that is too large; whether the text ended
  /// before a token.
  bool isTooLarge = false, isAtEnd = false;
  /// The fault of a text whose tokens are right.
  std::string fault;

  /// "matmul.bf16[2]", shortened if it is long; empty outside of all objects
  /// and lists.
  std::string path() const {
    constexpr size_t longest = 200;
    std::string text;
    for (const Level &level : levels) {
      if (level.isArray)
        text += fmt::format("[{}]", level.index);
      else if (!level.key.empty())
        text += (text.empty() ? "" : ".") + level.key;
      if (text.size() > longest)
        return text.substr(0, longest) + "...";
    }
    return text;
  }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t &) override {
    return value();
  }
  bool string(string_t &) override { return value(); }
  bool binary(binary_t &) override { return value(); }
  bool start_object(size_t) override { return begin(/*isArray=*/false); }
  bool start_array(size_t) override { return begin(/*isArray=*/true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t &name) override {
    levels.back().key = name;
    if (levels.back().keys.insert(name).second)
      return true;
    fault = "this key is there twice";
    return false;
  }
  bool parse_error(size_t read, const std::string &,
                   const Json::exception &error) override {
    constexpr int outOfRange = 406;
    position = read;
    isTooLarge = error.id == outOfRange;
    // Only the library's message tells this error apart.
    isAtEnd = std::string_view(error.what()).find("unexpected end of input") !=
              std::string_view::npos;
    return false;
  }

private:
  /// An object or a list that has begun.
  struct Level {
    bool isArray;
    size_t index = 0;
    std::string key = "";
    std::set<std::string> keys = {};
  };

  bool value() {
    if (!levels.empty())
      ++levels.back().index;
    return true;
  }
  bool begin(bool isArray) {
    if (levels.size() == deepest) {
      fault = fmt::format("values are nested more than {} deep", deepest);
      return false;
    }
    levels.push_back({isArray});
    return true;
  }
  bool end() {
    levels.pop_back();
    return value();
  }

  const size_t deepest;
  std::vector<Level> levels;
};

bool isDelimiter(char letter) {
  return std::string_view(" \t\r\n,:[]{}\"").find(letter) !=
         std::string_view::npos;
}

/// The begin of the word that contains the character at `at`, or that ends just
/// before `at`.
size_t beginOfToken(std::string_view text, size_t at) {
  while (at > 0 && !isDelimiter(text[at - 1]) &&
         (at == text.size() || !isDelimiter(text[at])))
    --at;
  return at;
}

/// The text from `begin` to the next delimiter; at least one character.
std::string tokenFrom(std::string_view text, size_t begin) {
  constexpr size_t longest = 40;
  size_t end = begin + 1;
  while (end < text.size() && end < begin + longest && !isDelimiter(text[end]))
    ++end;
  std::string token(text.substr(begin, end - begin));
  for (char &letter : token)
    if (static_cast<unsigned char>(letter) < ' ' ||
        static_cast<unsigned char>(letter) > '~')
      letter = '?';
  return token;
}

/// Quotes the text that was found where JSON was expected.
std::string foundAt(std::string_view text, size_t begin, bool isTooLarge) {
  if (begin >= text.size())
    return "the text ends before its value does";
  return fmt::format("found {}, which is {}", tokenFrom(text, begin),
                     isTooLarge ? "more than a number holds"
                                : "no JSON value here");
}

} // namespace

std::string tpsp::jsonFault(std::string_view text, size_t deepest) {
  FaultLocator locator(deepest);
  if (Json::sax_parse(text, &locator))
    return "";
  if (!locator.fault.empty())
    return locator.path() + ": " + locator.fault;
  size_t at = locator.position > 0 ? locator.position - 1 : 0;
  at = locator.isAtEnd ? text.size()
                       : beginOfToken(text, std::min(at, text.size()));
  std::string_view before = text.substr(0, at);
  size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  std::string path = locator.path();
  return fmt::format("line {}, column {}{}{}: {}", line, column,
                     path.empty() ? "" : ", ", path,
                     foundAt(text, at, locator.isTooLarge));
}
