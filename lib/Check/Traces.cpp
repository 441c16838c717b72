#include "tpsp/Check/Traces.h"

#include "Form.h"
#include "OddGroups.h"
#include "RankAgreement.h"
#include "TraceTimes.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/RankMesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

TraceOutcome TraceReport::outcome() const {
  TraceOutcome worst = matched > 0 ? TraceOutcome::Right : TraceOutcome::Untold;
  for (const TraceFinding &each : findings)
    worst = std::max(worst, each.outcome);
  return worst;
}

namespace {

bool isAlike(const RecordedCall &a, const RecordedCall &b) {
  auto key = [](const RecordedCall &call) {
    return std::tie(call.kind, call.elements, call.elementBytes, call.ranks,
                    call.group, call.isReceive, call.peer, call.phase,
                    call.isExtremum);
  };
  return key(a) == key(b);
}

/// Whether the calls are `times` equal pieces, one after another.
bool repeats(const std::vector<RecordedCall> &calls, size_t times) {
  if (times == 0 || calls.size() % times != 0)
    return false;
  size_t period = calls.size() / times;
  for (size_t i = period; i < calls.size(); ++i)
    if (!isAlike(calls[i], calls[i - period]))
      return false;
  return true;
}

/// The calls that are more than a norm, a loss or a log's number; all calls if
/// none is.
std::vector<RecordedCall> largeCalls(const std::vector<RecordedCall> &calls) {
  std::vector<RecordedCall> large;
  std::copy_if(
      calls.begin(), calls.end(), std::back_inserter(large),
      [](const RecordedCall &call) { return call.elements > fewElements; });
  return large.empty() ? calls : large;
}

/// The numbers of steps that a recording may have that does not say it: those
/// of which its large calls are a repetition. Logs need not be in every step.
std::vector<int64_t> possibleSteps(const Recording &recording) {
  std::vector<RecordedCall> calls = largeCalls(recording.calls);
  std::vector<int64_t> steps;
  constexpr size_t most = 64;
  for (size_t times = 1; times <= std::min(most, calls.size()); ++times)
    if (repeats(calls, times))
      steps.push_back(int64_t(times));
  // Without calls, it is one step that lacks them all.
  if (steps.empty())
    steps = {1};
  return steps;
}

/// Removes the calls of groups of one rank, which do nothing.
void dropLoneCalls(Recording &recording) {
  std::vector<RecordedCall> &calls = recording.calls;
  calls.erase(
      std::remove_if(calls.begin(), calls.end(),
                     [](const RecordedCall &c) { return c.groupSize == 1; }),
      calls.end());
}

/// The axes of a rank's groups.
class GroupAxes {
public:
  GroupAxes(const rt::RankMesh &mesh, int64_t rank) : mesh(mesh), rank(rank) {}

  Made made(const RecordedCall &call) {
    Made made;
    made.call = &call;
    std::vector<int64_t> ranks = call.ranks;
    bool isTransfer = call.kind == CollectiveKind::Transfer;
    if (isTransfer && call.peer >= 0)
      ranks = {std::min(rank, call.peer), std::max(rank, call.peer)};
    auto [found, isNew] = known.try_emplace({ranks, call.group, isTransfer});
    if (isNew)
      found->second = isTransfer ? ofTransfer(call, ranks) : ofGroup(call);
    std::tie(made.axes, made.touched) = found->second;
    return made;
  }

private:
  using Found = std::pair<std::optional<Axes>, Axes>;

  Axes allAxes() const {
    Axes all(mesh.axes().size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  Axes differing(const std::vector<int64_t> &ranks) const {
    if (ranks.empty() || ranks.front() < 0 || ranks.back() >= mesh.numRanks())
      return allAxes();
    Axes axes;
    std::vector<int64_t> first = mesh.coordinates(ranks.front());
    for (int64_t other : ranks) {
      std::vector<int64_t> at = mesh.coordinates(other);
      for (int64_t axis = 0; axis < int64_t(at.size()); ++axis)
        if (at[axis] != first[axis])
          axes = joined(axes, {axis});
    }
    return axes;
  }

  Found ofTransfer(const RecordedCall &call,
                   const std::vector<int64_t> &ranks) const {
    Axes axes = differing(ranks);
    return {call.peer >= 0 && call.peer < mesh.numRanks()
                ? std::optional<Axes>(axes)
                : std::nullopt,
            axes};
  }

  Found ofGroup(const RecordedCall &call) const {
    std::optional<Axes> axes = call.ranks.empty()
                                   ? axesOfName(call)
                                   : axesOfRanks(mesh, rank, call.ranks);
    return {axes, axes ? *axes : differing(call.ranks)};
  }

  /// Without the group's ranks, its name or its size must do. A size must be
  /// that of one set of axes alone.
  std::optional<Axes> axesOfName(const RecordedCall &call) const {
    constexpr size_t mostAxes = 8;
    if (mesh.axes().size() > mostAxes)
      return std::nullopt;
    std::vector<Axes> bySize;
    for (const Axes &axes : subsetsOf(allAxes())) {
      std::vector<std::string> names;
      int64_t size = 1;
      for (int64_t axis : axes) {
        names.push_back(mesh.axes()[axis].name);
        size *= mesh.axes()[axis].size;
      }
      if (size > 1 &&
          call.group == fmt::format("mesh_{}", fmt::join(names, "_")))
        return wide(mesh, axes);
      bool isWide = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
        return mesh.axes()[axis].size > 1;
      });
      if (isWide && !axes.empty() && size == call.groupSize)
        bySize.push_back(axes);
    }
    return bySize.size() == 1 ? std::optional<Axes>(bySize.front())
                              : std::nullopt;
  }

  const rt::RankMesh &mesh;
  const int64_t rank;
  std::map<std::tuple<std::vector<int64_t>, std::string, bool>, Found> known;
};

class TraceCheck {
public:
  TraceCheck(const Plan &plan, std::vector<Recording> recordings, int64_t steps,
             const PredictedTimes &predicted, TraceReport &report)
      : plan(plan), recordings(std::move(recordings)), steps(steps),
        report(report), times(plan, predicted) {}

  Status run() {
    TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
    TPSP_TRY(checkRanks());
    compareRanks(recordings, report);
    joinOddGroups(mesh, recordings, report);
    judgeAll();
    times.finish(report);
    doubtStages();
    noteOthers();
    std::stable_sort(report.findings.begin(), report.findings.end(),
                     [](const TraceFinding &a, const TraceFinding &b) {
                       return a.outcome > b.outcome;
                     });
    return {};
  }

private:
  Status checkRanks() {
    std::sort(
        recordings.begin(), recordings.end(),
        [](const Recording &a, const Recording &b) { return a.rank < b.rank; });
    report.meshRanks = mesh.numRanks();
    for (size_t i = 0; i < recordings.size(); ++i) {
      Recording &each = recordings[i];
      dropLoneCalls(each);
      if (steps > 0) {
        each.steps = steps;
        each.lost = 0;
      }
      report.files.push_back(each.path);
      report.ranks.push_back(each.rank);
      if (each.rank >= mesh.numRanks())
        return rt::invalid("'{}' is of rank {}, and the mesh has {}; give the "
                           "run's mesh with --mesh",
                           each.path, each.rank, mesh.numRanks());
      if (!each.calls.empty() && each.steps > int64_t(each.calls.size()))
        return rt::invalid("'{}' has {} collectives, and cannot be of {} steps",
                           each.path, each.calls.size(), each.steps);
      if (i > 0 && recordings[i - 1].rank == each.rank)
        return rt::invalid("'{}' and '{}' are both of rank {}; end the files' "
                           "names with the ranks' numbers",
                           recordings[i - 1].path, each.path, each.rank);
    }
    return {};
  }

  //===--- Matching
  //--------------------------------------------------------===//

  /// Matches a recording of so many steps with the ledger.
  Matching matched(const Recording &recording, int64_t steps) const {
    Matching matching(plan, mesh);
    matching.lost = recording.steps > 0 ? 0 : recording.lost;
    size_t count = recording.calls.size();
    // The last of equal steps counts.
    bool areEqual = repeats(recording.calls, size_t(steps));
    matching.addRows(recording.rank, areEqual ? 1 : steps);
    GroupAxes groups(mesh, recording.rank);
    for (size_t i = areEqual ? count - count / steps : 0; i < count; ++i)
      matching.calls.push_back(groups.made(recording.calls[i]));
    matchExactly(matching);
    matchOtherWays(matching);
    concludeMatching(matching);
    return matching;
  }

  static TraceOutcome outcomeOf(const Matching &matching) {
    TraceOutcome worst =
        matching.matched > 0 ? TraceOutcome::Right : TraceOutcome::Untold;
    for (const TraceFinding &each : matching.findings)
      worst = std::max(worst, each.outcome);
    return worst;
  }

  /// A recording need not say its number of steps. It is then judged by every
  /// number of which it is a repetition, or by one. If these differ, it is not
  /// judged.
  void judge(const std::vector<const Recording *> &alike) {
    const Recording &recording = *alike.front();
    std::vector<int64_t> ranks;
    for (const Recording *each : alike)
      ranks.push_back(each->rank);
    std::vector<int64_t> possible = {recording.steps};
    if (recording.steps == 0)
      possible = possibleSteps(recording);
    std::vector<TraceOutcome> outcomes;
    std::optional<Matching> last;
    for (int64_t each : possible) {
      last.emplace(matched(recording, each));
      outcomes.push_back(outcomeOf(*last));
    }
    if (std::count(outcomes.begin(), outcomes.end(), outcomes.front()) ==
        int64_t(outcomes.size())) {
      add(*last, possible.back(), ranks);
      times.add(*last, alike, possible.back(),
                repeats(recording.calls, size_t(possible.back())));
    } else {
      addUnknownSteps(possible, outcomes, *last, ranks);
    }
  }

  void add(const Matching &matching, int64_t steps,
           const std::vector<int64_t> &ranks) {
    if (report.calls == 0) {
      report.calls = int64_t(matching.calls.size());
      report.steps = steps;
    }
    report.matched += matching.matched;
    for (const std::string &note : matching.notes)
      if (std::find(report.notes.begin(), report.notes.end(), note) ==
          report.notes.end())
        report.notes.push_back(note);
    for (const TraceFinding &each : matching.findings)
      addFinding(each, ranks);
  }

  void addFinding(TraceFinding finding, const std::vector<int64_t> &ranks) {
    for (TraceFinding &each : report.findings)
      if (each.fault == finding.fault && each.text == finding.text &&
          each.outcome == finding.outcome) {
        each.ranks.insert(each.ranks.end(), ranks.begin(), ranks.end());
        std::sort(each.ranks.begin(), each.ranks.end());
        return;
      }
    finding.ranks = ranks;
    report.findings.push_back(std::move(finding));
  }

  void addUnknownSteps(const std::vector<int64_t> &possible,
                       const std::vector<TraceOutcome> &outcomes,
                       const Matching &last,
                       const std::vector<int64_t> &ranks) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < possible.size(); ++i)
      texts.push_back(fmt::format("{} as {} step{}",
                                  outcomes[i] == TraceOutcome::Untold
                                      ? "undecided"
                                      : nameOf(outcomes[i]),
                                  possible[i], possible[i] == 1 ? "" : "s"));
    TraceFinding finding;
    finding.fault = TraceFault::UnknownSteps;
    finding.outcome = TraceOutcome::Untold;
    finding.text = fmt::format(
        "the recording repeats {} times and does not say how many steps it "
        "has: it is {}; say their number with --steps",
        possible.back(), fmt::join(texts, ", "));
    addFinding(std::move(finding), ranks);
    report.matched += last.matched;
    report.calls = int64_t(last.calls.size());
    report.steps = 0;
  }

  /// Judges each different recording once, for all ranks that have it.
  void judgeAll() {
    std::vector<std::vector<const Recording *>> classes;
    std::vector<std::vector<Made>> made;
    for (const Recording &recording : recordings) {
      GroupAxes groups(mesh, recording.rank);
      std::vector<Made> own;
      for (const RecordedCall &call : recording.calls)
        own.push_back(groups.made(call));
      size_t i = 0;
      while (i < classes.size() &&
             !(classes[i].front()->steps == recording.steps &&
               stageOf(classes[i].front()->rank) == stageOf(recording.rank) &&
               classes[i].front()->lost == recording.lost &&
               areAlike(made[i], own)))
        ++i;
      if (i == classes.size()) {
        classes.emplace_back();
        made.push_back(std::move(own));
      }
      classes[i].push_back(&recording);
    }
    for (const std::vector<const Recording *> &alike : classes)
      judge(alike);
  }

  int64_t stageOf(int64_t rank) const {
    return plan.stageAxis < 0 ? 0 : mesh.coordinates(rank)[plan.stageAxis];
  }

  /// Whether two ranks make the same calls over the same axes.
  static bool areAlike(const std::vector<Made> &a, const std::vector<Made> &b) {
    auto key = [](const Made &made) {
      const RecordedCall &call = *made.call;
      return std::tie(made.axes, made.touched, call.kind, call.elements,
                      call.elementBytes, call.isReceive, call.phase,
                      call.isExtremum, call.line);
    };
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [&](const Made &x, const Made &y) { return key(x) == key(y); });
  }

  /// Sends between stages have the sizes of activations, and a tied table may
  /// have the same: their number alone proves no sum of gradients.
  void doubtStages() {
    if (plan.stageAxis < 0)
      return;
    TraceFinding finding;
    finding.fault = TraceFault::OtherWay;
    finding.outcome = TraceOutcome::Untold;
    finding.text = fmt::format(
        "the program has stages over {}: sends of activations and of gradients "
        "between them are not told apart",
        plan.mesh[plan.stageAxis].name);
    addFinding(std::move(finding), report.ranks);
  }

  void noteOthers() {
    for (const Recording &each : recordings)
      report.notes.insert(report.notes.end(), each.notes.begin(),
                          each.notes.end());
    if (int64_t others = recordings.front().others)
      report.notes.push_back(fmt::format(
          "{} recorded calls are no collectives of a step (barriers, "
          "broadcasts) and were passed over",
          others));
  }

  const Plan &plan;
  std::vector<Recording> recordings;
  const int64_t steps;
  TraceReport &report;
  TraceTimes times;
  rt::RankMesh mesh;
};

} // namespace

Status tpsp::check::checkTraces(const Plan &plan,
                                std::vector<Recording> recordings,
                                int64_t steps, TraceReport &report,
                                const PredictedTimes &predicted) {
  if (recordings.empty())
    return rt::invalid("no recording is given");
  return TraceCheck(plan, std::move(recordings), steps, predicted, report)
      .run();
}
