#include "RankAgreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::check;

namespace {

using Calls = std::vector<const RecordedCall *>;

bool isTransfer(const RecordedCall &call) {
  return call.kind == CollectiveKind::Transfer;
}

/// Whether two ranks' calls are one. Each rank may send parts of its own sizes
/// in an all_to_all.
bool isSame(const RecordedCall &a, const RecordedCall &b) {
  return a.kind == b.kind && (a.elements == b.elements ||
                              a.kind == CollectiveKind::AllToAll || !a.kind);
}

std::string describe(const RecordedCall &call) {
  return fmt::format("{} of {} elements",
                     call.kind ? nameOf(*call.kind) : call.name, call.elements);
}

class RankAgreement {
public:
  RankAgreement(const std::vector<Recording> &recordings, TraceReport &report)
      : recordings(recordings), report(report) {}

  void run() {
    for (const Recording &recording : recordings)
      for (const RecordedCall &call : recording.calls) {
        if (isTransfer(call))
          ends[{recording.rank, call.peer, call.isReceive}].push_back(&call);
        else if (!call.ranks.empty())
          groups[{call.ranks, call.group}][recording.rank].push_back(&call);
      }
    for (const auto &[group, byRank] : groups)
      compareGroup(group.first, byRank);
    for (const auto &[key, calls] : ends)
      compareEnds(std::get<0>(key), std::get<1>(key), std::get<2>(key), calls);
  }

private:
  bool isRecorded(int64_t rank) const { return find(rank) != nullptr; }
  const Recording *find(int64_t rank) const {
    for (const Recording &each : recordings)
      if (each.rank == rank)
        return &each;
    return nullptr;
  }

  /// Ranks of one group make the same calls in the same order.
  void compareGroup(const std::vector<int64_t> &ranks,
                    const std::map<int64_t, Calls> &byRank) {
    const Calls &wanted = byRank.begin()->second;
    int64_t first = byRank.begin()->first;
    for (int64_t rank : ranks) {
      if (!isRecorded(rank) || rank == first)
        continue;
      auto found = byRank.find(rank);
      const Calls calls = found == byRank.end() ? Calls() : found->second;
      size_t i = 0;
      while (i < wanted.size() && i < calls.size() &&
             isSame(*wanted[i], *calls[i]))
        ++i;
      if (i == wanted.size() && i == calls.size())
        continue;
      addDisagreement(first, wanted, rank, calls, i);
    }
  }

  void addDisagreement(int64_t first, const Calls &wanted, int64_t rank,
                       const Calls &calls, size_t at) {
    const RecordedCall &like = *wanted.front();
    TraceFinding finding;
    finding.fault = TraceFault::OtherOrder;
    finding.text = fmt::format(
        "ranks {} and {} disagree at call {} of group {}: {} and {}; they will "
        "wait for each other",
        first, rank, at + 1,
        like.group.empty() ? fmt::format("[{}]", fmt::join(like.ranks, ", "))
                           : like.group,
        at < wanted.size() ? describe(*wanted[at]) : "none",
        at < calls.size() ? describe(*calls[at]) : "none");
    finding.line = at < calls.size() ? calls[at]->line : "";
    finding.ranks = {first, rank};
    // Ring buffers that have lost entries may begin at different calls.
    if (!areOfWholeSteps(first, rank) &&
        (haveLost(first, rank) || isWindow(wanted, calls))) {
      finding.outcome = TraceOutcome::Untold;
      finding.doubt = "the ranks may have recorded other parts of the run: the "
                      "recordings do not say their number of steps";
    }
    report.findings.push_back(std::move(finding));
  }

  bool areOfWholeSteps(int64_t one, int64_t other) const {
    return find(one)->steps > 0 && find(other)->steps > 0;
  }

  bool haveLost(int64_t one, int64_t other) const {
    return find(one)->lost > 0 || find(other)->lost > 0;
  }

  /// Whether the shorter list is a part of the longer one.
  static bool isWindow(const Calls &a, const Calls &b) {
    const Calls &all = a.size() < b.size() ? b : a;
    const Calls &part = a.size() < b.size() ? a : b;
    auto same = [](const RecordedCall *x, const RecordedCall *y) {
      return isSame(*x, *y);
    };
    return all.size() != part.size() &&
           std::search(all.begin(), all.end(), part.begin(), part.end(),
                       same) != all.end();
  }

  /// A send of one rank to another needs a receive there.
  void compareEnds(int64_t rank, int64_t peer, bool isReceive,
                   const Calls &calls) {
    if (peer < 0 || !isRecorded(peer))
      return;
    auto found = ends.find({peer, rank, !isReceive});
    size_t others = found == ends.end() ? 0 : found->second.size();
    // A disagreement is reported once, from the side of the sender if it sends.
    if (others == calls.size() || (isReceive && others > 0))
      return;
    TraceFinding finding;
    finding.fault = TraceFault::OtherOrder;
    finding.text = isReceive
                       ? fmt::format("rank {} receives {} times from rank {}, "
                                     "which sends {} times; it will wait",
                                     rank, calls.size(), peer, others)
                       : fmt::format("rank {} sends {} times to rank {}, which "
                                     "receives {} times; one will wait",
                                     rank, calls.size(), peer, others);
    finding.line = calls.front()->line;
    finding.ranks = {std::min(rank, peer), std::max(rank, peer)};
    if (!areOfWholeSteps(rank, peer)) {
      finding.outcome = TraceOutcome::Untold;
      finding.doubt = "the recordings do not say their number of steps";
    }
    report.findings.push_back(std::move(finding));
  }

  const std::vector<Recording> &recordings;
  TraceReport &report;
  /// The keys are a group (its ranks and its name) and a rank.
  std::map<std::pair<std::vector<int64_t>, std::string>,
           std::map<int64_t, Calls>>
      groups;
  /// The key is rank, peer and direction.
  std::map<std::tuple<int64_t, int64_t, bool>, Calls> ends;
};

} // namespace

void tpsp::check::compareRanks(const std::vector<Recording> &recordings,
                               TraceReport &report) {
  RankAgreement(recordings, report).run();
}
