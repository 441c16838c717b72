#include "PtxText.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace tpsp::doubles {
namespace {

/// Returns the positions of the kernel's braces; past the end if there is no
/// such kernel.
std::pair<size_t, size_t> bodyOf(const std::string &ptx,
                                 const std::string &entry) {
  size_t name = ptx.find(".entry " + entry + "(");
  size_t begin = name == std::string::npos ? name : ptx.find('{', name);
  if (begin == std::string::npos)
    return {ptx.size(), ptx.size()};
  int depth = 0;
  for (size_t i = begin; i < ptx.size(); ++i) {
    depth += (ptx[i] == '{') - (ptx[i] == '}');
    if (depth == 0)
      return {begin, i};
  }
  return {begin, ptx.size()};
}

/// A variable, from the text before its `;`, such as `.shared .align 8 .b8
/// name[2048]`.
struct Variable {
  std::string name;
  size_t bytes = 0;

  explicit Variable(const std::string &declaration) {
    std::istringstream words(declaration);
    std::string word;
    size_t width = 1;
    while (words >> word) {
      if (word == ".align")
        words >> word;
      else if (word[0] == '.')
        width = std::max(width, widthOf(word));
      else
        break;
    }
    name = word.substr(0, word.find('['));
    bytes = width;
    for (size_t at = word.find('['); at != std::string::npos;
         at = word.find('[', at + 1))
      bytes *= std::strtoull(word.c_str() + at + 1, nullptr, 10);
  }

private:
  /// Returns a type's bytes: 4 for ".f32"; 1 for text that is no type.
  static size_t widthOf(const std::string &type) {
    size_t bits = std::strtoull(type.c_str() + 2, nullptr, 10);
    return bits >= 8 ? bits / 8 : 1;
  }
};

bool isExtern(const std::string &ptx, size_t at) {
  size_t line = ptx.rfind('\n', at);
  line = line == std::string::npos ? 0 : line;
  return ptx.substr(line, at - line).find(".extern") != std::string::npos;
}

} // namespace

size_t staticSharedBytes(const std::string &ptx, const std::string &entry) {
  auto [begin, end] = bodyOf(ptx, entry);
  std::string body = ptx.substr(begin, end - begin);
  size_t total = 0, scanned = 0;
  int depth = 0;
  // Instructions have the word only within another, as in ld.shared.f32.
  for (size_t at = ptx.find(".shared "); at != std::string::npos;
       at = ptx.find(".shared ", at + 1)) {
    for (; scanned < at; ++scanned)
      depth += (ptx[scanned] == '{') - (ptx[scanned] == '}');
    bool isWord = at == 0 || std::isspace(ptx[at - 1]);
    if (!isWord || isExtern(ptx, at))
      continue;
    Variable variable(ptx.substr(at, ptx.find(';', at) - at));
    bool isOwn = at > begin && at < end;
    if (isOwn || (depth == 0 && body.find(variable.name) != std::string::npos))
      total += variable.bytes;
  }
  return total;
}

/// Returns the bytes of a kernel's list of parameters, such as `(.param .u64
/// .ptr .align 16 name, .param .b8 name[24])`.
static size_t parameterBytes(const std::string &list) {
  size_t bytes = 0;
  for (size_t at = list.find(".param "); at != std::string::npos;
       at = list.find(".param ", at + 1)) {
    Variable parameter(list.substr(at, list.find(',', at) - at));
    size_t width = std::max<size_t>(parameter.bytes, 1);
    size_t alignment = std::min<size_t>(width, 8);
    bytes = (bytes + alignment - 1) / alignment * alignment + width;
  }
  return bytes;
}

size_t mostParameterBytes(const std::string &ptx) {
  size_t most = 0;
  for (size_t at = ptx.find(".entry "); at != std::string::npos;
       at = ptx.find(".entry ", at + 1)) {
    size_t end = ptx.find('{', at);
    most = std::max(most, parameterBytes(ptx.substr(at, end - at)));
  }
  return most;
}

} // namespace tpsp::doubles
