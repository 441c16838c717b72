#include "tpsp/Check/Traces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

/// "rank 3", "ranks 0 to 3", "ranks 0, 2".
static std::string ranksText(const std::vector<int64_t> &ranks) {
  if (ranks.size() == 1)
    return fmt::format("rank {}", ranks.front());
  bool isRun = ranks.size() > 2 &&
               ranks.back() - ranks.front() + 1 == int64_t(ranks.size());
  if (isRun)
    return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

static std::string headline(const TraceReport &report) {
  TraceOutcome outcome = report.outcome();
  auto count = std::count_if(
      report.findings.begin(), report.findings.end(),
      [&](const TraceFinding &each) { return each.outcome == outcome; });
  if (report.matched == 0 && count == 0)
    return "cannot be told: nothing was matched\n";
  std::string step = fmt::format(
      "{} collectives {}on {}", report.calls,
      report.steps == 0 ? "" : "of a step ",
      report.ranks.size() == size_t(report.meshRanks)
          ? "every rank"
          : fmt::format("{} of {}", ranksText(report.ranks), report.meshRanks));
  if (outcome == TraceOutcome::Right)
    return fmt::format("right: {}\n", step);
  return fmt::format("{}: {} finding{} in {}\n", nameOf(outcome), count,
                     count == 1 ? "" : "s", step);
}

static std::string findingText(const TraceFinding &each, size_t number,
                               const TraceReport &report) {
  std::string text =
      fmt::format("\n{}. {}: {}\n", number, nameOf(each.fault), each.text);
  std::string ranks =
      each.ranks == report.ranks ? "" : "on " + ranksText(each.ranks);
  std::string times = each.times > 1 ? fmt::format("{}", each.times) : "";
  const std::pair<const char *, const std::string &> lines[] = {
      {"ranks", ranks},    {"needs", each.collective}, {"at", each.location},
      {"rule", each.rule}, {"recorded", each.line},    {"times", times}};
  if (each.outcome != report.outcome())
    text += fmt::format("   {:10} {}\n", "so it is", nameOf(each.outcome));
  if (!each.doubt.empty())
    text += fmt::format("   {:10} {}\n",
                        each.outcome == TraceOutcome::Right ? "but" : "unless",
                        each.doubt);
  for (const auto &[key, value] : lines)
    if (!value.empty())
      text += fmt::format("   {:10} {}\n", key, value);
  return text;
}

std::string tpsp::check::toText(const TraceReport &report) {
  std::string text = headline(report);
  size_t number = 0;
  for (const TraceFinding &each : report.findings)
    text += findingText(each, ++number, report);
  for (const std::string &note : report.notes)
    text += fmt::format("\nnote: {}\n", note);
  return text;
}

std::string tpsp::check::toJson(const TraceReport &report) {
  nlohmann::ordered_json json;
  json["version"] = 2;
  json["outcome"] = nameOf(report.outcome());
  json["right"] = report.outcome() == TraceOutcome::Right;
  json["files"] = report.files;
  json["ranks"] = report.ranks;
  json["steps"] = report.steps;
  json["calls"] = report.calls;
  json["matched"] = report.matched;
  json["findings"] = nlohmann::ordered_json::array();
  for (const TraceFinding &each : report.findings)
    json["findings"].push_back({{"kind", nameOf(each.fault)},
                                {"outcome", nameOf(each.outcome)},
                                {"text", each.text},
                                {"doubt", each.doubt},
                                {"collective", each.collective},
                                {"rule", each.rule},
                                {"location", each.location},
                                {"line", each.line},
                                {"ranks", each.ranks},
                                {"times", each.times}});
  json["notes"] = report.notes;
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}
