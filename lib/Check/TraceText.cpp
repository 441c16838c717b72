#include "tpsp/Check/Traces.h"

#include "FindingText.h"

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
    return "cannot be told: nothing was matched";
  std::string step = fmt::format(
      "{} collectives {}on {}", report.calls,
      report.steps == 0 ? "" : "of a step ",
      report.ranks.size() == size_t(report.meshRanks)
          ? "every rank"
          : fmt::format("{} of {}", ranksText(report.ranks), report.meshRanks));
  if (outcome == TraceOutcome::Right)
    return fmt::format("right: {}", step);
  return fmt::format("{}: {} finding{} in {}", nameOf(outcome), count,
                     count == 1 ? "" : "s", step);
}

static rt::PageFinding inWords(const TraceFinding &each,
                               const TraceReport &report) {
  rt::PageFinding words;
  words.title = fmt::format("{}: {}", nameOf(each.fault), each.text);
  if (each.outcome != report.outcome())
    addFact(words, "so it is", nameOf(each.outcome));
  addFact(words, each.outcome == TraceOutcome::Right ? "but" : "unless",
          each.doubt);
  addFact(words, "ranks",
          each.ranks == report.ranks ? "" : "on " + ranksText(each.ranks));
  addFact(words, "needs", each.collective);
  addFact(words, "at", each.location);
  addFact(words, "rule", each.rule);
  addFact(words, "recorded", each.line);
  addFact(words, "times", each.times > 1 ? std::to_string(each.times) : "");
  words.axes = each.axes;
  words.collective = each.collective;
  words.location = each.location;
  words.isWrong = each.outcome == TraceOutcome::Wrong;
  return words;
}

std::string tpsp::check::toText(const TraceReport &report) {
  std::string text = headline(report) + "\n";
  size_t number = 0;
  for (const TraceFinding &each : report.findings)
    text += toText(inWords(each, report), ++number);
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
                                {"axes", each.axes},
                                {"line", each.line},
                                {"ranks", each.ranks},
                                {"times", each.times}});
  json["notes"] = report.notes;
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

/// The first finding that decides the outcome; "" if it is right.
static std::string firstOf(const TraceReport &report) {
  if (report.outcome() == TraceOutcome::Right)
    return "";
  for (const TraceFinding &each : report.findings)
    if (each.outcome == report.outcome())
      return each.text;
  return "";
}

rt::PageCheck tpsp::check::toPageCheck(const TraceReport &report) {
  rt::PageCheck page;
  page.title = "recorded collectives";
  page.outcome = nameOf(report.outcome());
  page.answer = headline(report);
  page.facts = {
      {"first finding", firstOf(report)},
      {"findings", std::to_string(report.findings.size())},
      {"recorded",
       fmt::format("{} on rank {}", report.calls, report.ranks.front())},
      {"matched on all ranks", std::to_string(report.matched)},
      {"steps", report.steps ? std::to_string(report.steps) : "?"},
      {"recordings",
       fmt::format("{} of {} ranks", report.files.size(), report.meshRanks)}};
  for (const TraceFinding &each : report.findings)
    page.findings.push_back(inWords(each, report));
  page.notes = report.notes;
  page.report = toJson(report);
  return page;
}
