#include "tpsp/Check/Traces.h"

#include "Form.h"
#include "LedgerMatch.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/RankMesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <set>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

bool TraceReport::isRight() const {
  return matched > 0 &&
         std::all_of(findings.begin(), findings.end(),
                     [](const TraceFinding &each) {
                       return each.fault == TraceFault::OtherKind;
                     });
}

namespace {

bool isAlike(const RecordedCall &a, const RecordedCall &b) {
  return a.kind == b.kind && a.elements == b.elements && a.ranks == b.ranks &&
         a.group == b.group && a.elementBytes == b.elementBytes;
}

/// The number of calls after which a recording repeats; all of them if it does
/// not.
size_t periodOf(const std::vector<RecordedCall> &calls) {
  for (size_t period = 1; period * 2 <= calls.size(); ++period) {
    if (calls.size() % period != 0)
      continue;
    bool repeats = true;
    for (size_t i = period; i < calls.size() && repeats; ++i)
      repeats = isAlike(calls[i], calls[i - period]);
    // Layers repeat, too: a step has more than one kind of call.
    bool isOne = std::all_of(
        calls.begin(), calls.begin() + period,
        [&](const RecordedCall &each) { return isAlike(each, calls.front()); });
    if (repeats && !isOne)
      return period;
  }
  return calls.size();
}

std::string describe(const RecordedCall &call) {
  return fmt::format("{} of {} elements", nameOf(call.kind), call.elements);
}

class TraceCheck {
public:
  TraceCheck(const Plan &plan, std::vector<Recording> recordings,
             TraceReport &report)
      : plan(plan), recordings(std::move(recordings)), report(report) {}

  Status run() {
    TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
    TPSP_TRY(checkRanks());
    compareRanks();
    TPSP_TRY(matchLedger());
    return {};
  }

private:
  Status checkRanks() {
    std::sort(
        recordings.begin(), recordings.end(),
        [](const Recording &a, const Recording &b) { return a.rank < b.rank; });
    for (size_t i = 0; i < recordings.size(); ++i) {
      const Recording &each = recordings[i];
      report.files.push_back(each.path);
      if (each.rank >= mesh.numRanks())
        return rt::invalid("'{}' is of rank {}, and the mesh has {}; give the "
                           "run's mesh with --mesh",
                           each.path, each.rank, mesh.numRanks());
      if (i > 0 && recordings[i - 1].rank == each.rank)
        return rt::invalid("'{}' and '{}' are both of rank {}; end the files' "
                           "names with the ranks' numbers",
                           recordings[i - 1].path, each.path, each.rank);
    }
    return {};
  }

  /// The calls of a recording in one group, in order.
  static std::vector<const RecordedCall *> callsIn(const Recording &recording,
                                                   const RecordedCall &like) {
    std::vector<const RecordedCall *> calls;
    for (const RecordedCall &each : recording.calls)
      if (each.ranks == like.ranks && each.group == like.group)
        calls.push_back(&each);
    return calls;
  }

  /// Ranks of one group must make the same calls in the same order.
  void compareRanks() {
    std::set<std::pair<std::vector<int64_t>, std::string>> seen;
    for (const Recording &recording : recordings)
      for (const RecordedCall &call : recording.calls)
        if (!call.ranks.empty() && seen.insert({call.ranks, call.group}).second)
          compareGroup(call);
  }

  void compareGroup(const RecordedCall &like) {
    const Recording *first = nullptr;
    std::vector<const RecordedCall *> wanted;
    for (const Recording &recording : recordings) {
      if (!std::binary_search(like.ranks.begin(), like.ranks.end(),
                              recording.rank))
        continue;
      std::vector<const RecordedCall *> calls = callsIn(recording, like);
      if (!first) {
        first = &recording;
        wanted = std::move(calls);
        continue;
      }
      size_t i = 0, common = std::min(calls.size(), wanted.size());
      while (i < common && calls[i]->kind == wanted[i]->kind &&
             calls[i]->elements == wanted[i]->elements)
        ++i;
      if (i == common && calls.size() == wanted.size())
        continue;
      TraceFinding finding;
      finding.fault = TraceFault::OtherOrder;
      finding.text = fmt::format(
          "ranks {} and {} disagree at call {} of group {}: {} and {}; they "
          "will wait for each other",
          first->rank, recording.rank, i + 1, groupText(like),
          i < wanted.size() ? describe(*wanted[i]) : "none",
          i < calls.size() ? describe(*calls[i]) : "none");
      finding.line = i < calls.size() ? calls[i]->line : "";
      report.findings.push_back(std::move(finding));
    }
  }

  static std::string groupText(const RecordedCall &call) {
    return call.group.empty() ? fmt::format("[{}]", fmt::join(call.ranks, ", "))
                              : call.group;
  }

  /// The axes of a call's group, or none.
  std::optional<std::vector<int64_t>> axesOf(const RecordedCall &call,
                                             int64_t rank) const {
    std::vector<int64_t> all(mesh.axes().size());
    std::iota(all.begin(), all.end(), 0);
    constexpr size_t mostAxes = 8;
    if (all.size() > mostAxes)
      return std::nullopt;
    for (const std::vector<int64_t> &axes : subsetsOf(all)) {
      rt::RankGroup group;
      bool isWide = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
        return mesh.axes()[axis].size > 1;
      });
      if (axes.empty() || !isWide || !mesh.group(rank, axes, group).ok())
        continue;
      std::sort(group.ranks.begin(), group.ranks.end());
      if (call.ranks.empty() ? isNamed(call, axes, group)
                             : group.ranks == call.ranks)
        return axes;
    }
    return std::nullopt;
  }

  /// Without the group's ranks, its name or its size must do.
  bool isNamed(const RecordedCall &call, const std::vector<int64_t> &axes,
               const rt::RankGroup &group) const {
    std::vector<std::string> names;
    for (int64_t axis : axes)
      names.push_back(mesh.axes()[axis].name);
    if (call.group == fmt::format("mesh_{}", fmt::join(names, "_")))
      return true;
    return call.groupSize == group.size() || group.size() == mesh.numRanks();
  }

  Status matchLedger() {
    const Recording &recording = recordings.front();
    size_t period = periodOf(recording.calls);
    report.steps = int64_t(recording.calls.size() / period);
    report.calls = int64_t(period);
    LedgerMatch match(plan, mesh, report);
    for (size_t i = recording.calls.size() - period; i < recording.calls.size();
         ++i) {
      const RecordedCall &call = recording.calls[i];
      match.add(call, axesOf(call, recording.rank));
    }
    match.run();
    if (recording.others > 0)
      report.notes.push_back(fmt::format(
          "{} recorded calls are no collectives of a step (barriers, "
          "broadcasts, sends) and were passed over",
          recording.others));
    return {};
  }

  const Plan &plan;
  std::vector<Recording> recordings;
  TraceReport &report;
  rt::RankMesh mesh;
};

} // namespace

Status tpsp::check::checkTraces(const Plan &plan,
                                std::vector<Recording> recordings,
                                TraceReport &report) {
  if (recordings.empty())
    return rt::invalid("no recording is given");
  return TraceCheck(plan, std::move(recordings), report).run();
}

std::string tpsp::check::toText(const TraceReport &report) {
  size_t wrong = 0;
  for (const TraceFinding &each : report.findings)
    wrong += each.fault != TraceFault::OtherKind;
  std::string text =
      wrong > 0 ? fmt::format("wrong: {} in a step of {} collectives\n",
                              wrong == 1 ? "1 finding"
                                         : fmt::format("{} findings", wrong),
                              report.calls)
      : report.matched > 0
          ? fmt::format("right: {} collectives of a step\n", report.calls)
          : "nothing was matched\n";
  size_t number = 0;
  for (const TraceFinding &each : report.findings) {
    text +=
        fmt::format("\n{}. {}: {}\n", ++number, nameOf(each.fault), each.text);
    const std::pair<const char *, const std::string &> lines[] = {
        {"needs", each.collective},
        {"at", each.location},
        {"rule", each.rule},
        {"recorded", each.line}};
    for (const auto &[key, value] : lines)
      if (!value.empty())
        text += fmt::format("   {:10} {}\n", key, value);
    if (each.times > 1)
      text += fmt::format("   {:10} {}\n", "times", each.times);
  }
  for (const std::string &note : report.notes)
    text += fmt::format("\nnote: {}\n", note);
  return text;
}

std::string tpsp::check::toJson(const TraceReport &report) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["right"] = report.isRight();
  json["files"] = report.files;
  json["steps"] = report.steps;
  json["calls"] = report.calls;
  json["matched"] = report.matched;
  json["findings"] = nlohmann::ordered_json::array();
  for (const TraceFinding &each : report.findings)
    json["findings"].push_back({{"kind", nameOf(each.fault)},
                                {"text", each.text},
                                {"collective", each.collective},
                                {"rule", each.rule},
                                {"location", each.location},
                                {"line", each.line},
                                {"times", each.times}});
  json["notes"] = report.notes;
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}
