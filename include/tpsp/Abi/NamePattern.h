/// Names that all layers have in common.
#ifndef TPSP_ABI_NAMEPATTERN_H
#define TPSP_ABI_NAMEPATTERN_H

#include <cctype>
#include <string>

namespace tpsp {

/// "layers.#.w1" for "layers.12.w1": '#' for each number that is a word of its
/// own. Takes time linear in the name.
inline std::string patternOf(const std::string &name) {
  auto isWord = [&](size_t at) {
    return at < name.size() &&
           std::isalnum(static_cast<unsigned char>(name[at])) != 0;
  };
  auto isDigit = [&](size_t at) {
    return at < name.size() &&
           std::isdigit(static_cast<unsigned char>(name[at])) != 0;
  };
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    size_t end = i;
    while (isDigit(end))
      ++end;
    bool isNumber = end > i && !isWord(end) && (i == 0 || !isWord(i - 1));
    pattern += isNumber ? '#' : name[i];
    i = isNumber ? end - 1 : i;
  }
  return pattern;
}

} // namespace tpsp

#endif // TPSP_ABI_NAMEPATTERN_H
