#include "AgreedOptions.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tpsp;
using namespace tpsp::tool;

std::pair<std::string, uint64_t>
tpsp::tool::agreedText(const std::string &name, const std::string &text) {
  return {name, XXH3_64bits(text.data(), text.size())};
}

Agreed tpsp::tool::agreedOptions(const ToolOptions &options) {
  Agreed out;
  AgreedRows<ToolOptions> collect(options, out);
  CompileOptions::forEachOption(collect);
#define OPTION(type, field, value, row) collect(&ToolOptions::field, row);
#include "ToolOptions.def"
#undef OPTION
  return out;
}
