#include "tpsp/Check/Traces.h"

#include "FindingText.h"

#include "tpsp/Abi/TextTable.h"

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

/// "12.3", in microseconds.
static std::string microseconds(double seconds) {
  return fmt::format("{:.1f}", 1e6 * seconds);
}

/// The seconds of all collectives that `part` has, for each rank and step.
template <typename Part>
static double perStep(const TraceReport &report, Part part) {
  double sum = 0;
  for (const CollectiveTime &each : report.times)
    sum += double(each.count) * part(each);
  return sum / double(std::max<int64_t>(report.timedSteps, 1));
}

static bool hasExposure(const TraceReport &report) {
  return std::all_of(
      report.times.begin(), report.times.end(),
      [](const CollectiveTime &each) { return each.exposed.has_value(); });
}

/// The sums over a rank's step.
static std::string timesLine(const TraceReport &report) {
  std::string text =
      fmt::format("collectives take {} us of a rank's step",
                  microseconds(perStep(
                      report, [](const auto &each) { return each.mean; })));
  if (hasExposure(report))
    text += fmt::format(", {} us of them exposed",
                        microseconds(perStep(report, [](const auto &each) {
                          return *each.exposed;
                        })));
  if (report.machine.empty())
    return text + "; name the machine with --hardware for predictions";
  return text + fmt::format("; predicted on {}: {} us", report.machine,
                            microseconds(perStep(report, [](const auto &each) {
                              return *each.predicted;
                            })));
}

static std::string timesText(const TraceReport &report) {
  if (report.times.empty())
    return "";
  std::vector<std::string> head = {"collective", "times", "us", "from", "to"};
  std::string form = "lrrrr";
  bool isExposed = hasExposure(report), isPredicted = !report.machine.empty();
  for (auto [has, name] :
       {std::pair(isExposed, "exposed"), std::pair(isPredicted, "predicted"),
        std::pair(isPredicted, "ratio")})
    if (has) {
      head.push_back(name);
      form += "r";
    }
  TextTable table(form.c_str());
  table.add(head);
  for (const CollectiveTime &each : report.times) {
    std::vector<std::string> row = {
        each.collective, std::to_string(each.count), microseconds(each.mean),
        microseconds(each.least), microseconds(each.most)};
    if (isExposed)
      row.push_back(microseconds(*each.exposed));
    if (isPredicted) {
      row.push_back(microseconds(*each.predicted));
      row.push_back(*each.predicted > 0
                        ? fmt::format("{:.2f}", each.mean / *each.predicted)
                        : "");
    }
    table.add(row);
  }
  return fmt::format("\n{}\n\n{}", timesLine(report), table.text());
}

static nlohmann::ordered_json timesJson(const TraceReport &report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CollectiveTime &each : report.times) {
    nlohmann::ordered_json one = {
        {"collective", each.collective}, {"location", each.location},
        {"times", each.count},           {"seconds", each.mean},
        {"least_seconds", each.least},   {"most_seconds", each.most}};
    one["exposed_seconds"] = nullptr;
    one["predicted_seconds"] = nullptr;
    if (each.exposed)
      one["exposed_seconds"] = *each.exposed;
    if (each.predicted)
      one["predicted_seconds"] = *each.predicted;
    list.push_back(std::move(one));
  }
  return list;
}

std::string tpsp::check::toText(const TraceReport &report) {
  std::string text = headline(report) + "\n";
  size_t number = 0;
  for (const TraceFinding &each : report.findings)
    text += toText(inWords(each, report), ++number);
  text += timesText(report);
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
  json["machine"] = report.machine;
  json["times"] = timesJson(report);
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
  if (!report.times.empty())
    page.facts.push_back({"times", timesLine(report)});
  page.report = toJson(report);
  return page;
}
