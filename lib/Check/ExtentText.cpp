#include "ExtentText.h"

#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <vector>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

namespace {

class ExtentReader {
public:
  ExtentReader(const std::string &text,
               const std::map<std::string, int64_t> &extents)
      : text(text), extents(extents) {}

  Status read(int64_t &out) {
    TPSP_TRY(readProduct(out));
    while (char sign = take("+-")) {
      int64_t term = 0;
      TPSP_TRY(readProduct(term));
      if (__builtin_add_overflow(out, sign == '+' ? term : -term, &out))
        return tooLarge();
    }
    if (at < text.size())
      return rt::invalid("'{}' is no extent from '{}' on; write numbers, "
                         "indices and + - * /",
                         text, text.substr(at));
    return {};
  }

private:
  static bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  }

  void skipSpaces() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }

  /// Takes one of these characters; 0 if another one is next.
  char take(const std::string &characters) {
    skipSpaces();
    if (at == text.size() || characters.find(text[at]) == std::string::npos)
      return 0;
    return text[at++];
  }

  Status tooLarge() const {
    return rt::invalid("'{}' is larger than any extent", text);
  }

  Status readProduct(int64_t &out) {
    TPSP_TRY(readFactor(out));
    while (char sign = take("*/")) {
      int64_t factor = 0;
      TPSP_TRY(readFactor(factor));
      if (sign == '*' && __builtin_mul_overflow(out, factor, &out))
        return tooLarge();
      if (sign == '/' && (factor == 0 || out % factor != 0))
        return rt::invalid("'{}' divides {} by {}, which has a remainder", text,
                           out, factor);
      if (sign == '/')
        out /= factor;
    }
    return {};
  }

  Status readFactor(int64_t &out) {
    bool isNegative = take("-") != 0;
    skipSpaces();
    size_t begin = at;
    while (at < text.size() && isWord(text[at]))
      ++at;
    std::string word = text.substr(begin, at - begin);
    if (word.empty())
      return rt::invalid("'{}' lacks a number or an index", text);
    constexpr size_t mostDigits = 15;
    bool isNumber = word.find_first_not_of("0123456789") == std::string::npos;
    if (isNumber && word.size() > mostDigits)
      return tooLarge();
    if (isNumber)
      out = std::stoll(word);
    else
      TPSP_TRY(find(word, out));
    out = isNegative ? -out : out;
    return {};
  }

  Status find(const std::string &name, int64_t &out) const {
    auto found = extents.find(name);
    if (found != extents.end()) {
      out = found->second;
      return {};
    }
    std::vector<std::string> names;
    for (const auto &[known, extent] : extents)
      names.push_back(known);
    return rt::invalid(
        "'{}' has the index {}, and the program has {}", text, name,
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }

  const std::string &text;
  const std::map<std::string, int64_t> &extents;
  size_t at = 0;
};

} // namespace

Status
tpsp::check::evaluateExtent(const std::string &text,
                            const std::map<std::string, int64_t> &extents,
                            int64_t &out) {
  return ExtentReader(text, extents).read(out);
}

bool tpsp::check::hasName(const std::string &text) {
  for (char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_')
      return true;
  return false;
}
