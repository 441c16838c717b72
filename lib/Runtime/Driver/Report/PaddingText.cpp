#include "PaddingText.h"

#include "tpsp/Abi/TextTable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tpsp;

std::string tpsp::rt::paddingText(const Plan &plan) {
  if (plan.padded.empty())
    return "";
  TextTable table("ll");
  for (const PaddedIndex &index : plan.padded) {
    double added = double(index.heldExtent) - double(index.extent);
    table.add(
        {index.name,
         fmt::format("{} to {} (+{:.2f} %)", index.extent, index.heldExtent,
                     100 * added / std::max(1.0, double(index.extent)))});
  }
  return "\nPadded indices (all else is with these extents)\n" + table.text();
}

nlohmann::ordered_json tpsp::rt::paddingJson(const Plan &plan) {
  auto list = nlohmann::ordered_json::array();
  for (const PaddedIndex &index : plan.padded)
    list.push_back({{"index", index.name},
                    {"extent", index.extent},
                    {"padded_extent", index.heldExtent}});
  return list;
}
