#include "AgreedOptions.h"

#include "tpsp/Runtime/Meeting.h"

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

rt::Status tpsp::tool::checkAgreed(rt::Transport &transport, const Agreed &mine,
                                   double timeoutSeconds) {
  std::vector<uint64_t> hashes;
  for (const auto &[name, hash] : mine)
    hashes.push_back(hash);
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(rt::exchangeAll(transport, hashes, "to begin", timeoutSeconds, all));
  for (size_t i = 0; i < mine.size(); ++i)
    if (std::vector<int64_t> ranks = rt::differingRanks(all, i); !ranks.empty())
      return rt::refuseTogether(
          transport, fmt::format("{} of {} is not that of rank 0; give all "
                                 "processes the same",
                                 mine[i].first, rt::ranksText(ranks)));
  return {};
}
