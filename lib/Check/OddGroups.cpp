#include "OddGroups.h"

#include "Hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

std::optional<Axes>
tpsp::check::axesOfRanks(const rt::RankMesh &mesh, int64_t rank,
                         const std::vector<int64_t> &ranks) {
  // The axes along which the ranks differ are the only candidates.
  Axes axes;
  std::vector<int64_t> own = mesh.coordinates(rank);
  for (int64_t other : ranks) {
    if (other < 0 || other >= mesh.numRanks())
      return std::nullopt;
    std::vector<int64_t> at = mesh.coordinates(other);
    for (int64_t axis = 0; axis < int64_t(at.size()); ++axis)
      if (at[axis] != own[axis] &&
          std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  rt::RankGroup group;
  if (!mesh.group(rank, axes, group).ok())
    return std::nullopt;
  std::sort(group.ranks.begin(), group.ranks.end());
  if (group.ranks != ranks)
    return std::nullopt;
  return axes;
}

namespace {

/// All all_reduces of one size over odd groups, by rank.
class OddSums {
public:
  OddSums(const rt::RankMesh &mesh, std::vector<Recording> &recordings)
      : mesh(mesh), recordings(recordings), calls(recordings.size()),
        next(recordings.size(), 0) {
    reset();
  }

  void add(size_t rank, size_t call) { calls[rank].push_back(call); }

  /// Performs the calls in an order in which all ranks can make them. Whenever
  /// all ranks have the sum over axes of the mesh, these calls are one.
  void join(TraceReport &report) {
    while (step()) {
      std::optional<Axes> axes = axesOfAll();
      if (axes)
        replace(*axes, report);
    }
  }

private:
  /// Every rank has its own summand.
  void reset() {
    summands.assign(calls.size(), {});
    for (size_t rank = 0; rank < calls.size(); ++rank)
      summands[rank][int64_t(rank)] = 1;
    begin = next;
  }

  const RecordedCall *callOf(size_t rank) const {
    return next[rank] < calls[rank].size()
               ? &recordings[rank].calls[calls[rank][next[rank]]]
               : nullptr;
  }

  /// Performs a call that all ranks of its group make next.
  bool step() {
    for (size_t rank = 0; rank < calls.size(); ++rank) {
      const RecordedCall *call = callOf(rank);
      if (!call || !areReady(call->ranks))
        continue;
      std::map<int64_t, int64_t> sum;
      for (int64_t other : call->ranks)
        for (const auto &[summand, times] : summands[other])
          sum[summand] += times;
      for (int64_t other : std::vector<int64_t>(call->ranks)) {
        summands[other] = sum;
        ++next[other];
      }
      return true;
    }
    return false;
  }

  bool areReady(const std::vector<int64_t> &ranks) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](int64_t rank) {
      const RecordedCall *call =
          rank < int64_t(calls.size()) ? callOf(rank) : nullptr;
      return call && call->ranks == ranks;
    });
  }

  /// The axes over which all ranks have added up each summand once.
  std::optional<Axes> axesOfAll() const {
    std::optional<Axes> axes;
    for (size_t rank = 0; rank < calls.size(); ++rank) {
      std::vector<int64_t> ranks;
      for (const auto &[summand, times] : summands[rank]) {
        if (times != 1)
          return std::nullopt;
        ranks.push_back(summand);
      }
      std::optional<Axes> own = axesOfRanks(mesh, int64_t(rank), ranks);
      if (!own || own->empty() || (axes && *axes != *own))
        return std::nullopt;
      axes = own;
    }
    return axes;
  }

  /// The last of each rank's calls is over the axes, and the others are none.
  void replace(const Axes &axes, TraceReport &report) {
    int64_t elements = 0;
    for (size_t rank = 0; rank < calls.size(); ++rank)
      for (size_t i = begin[rank]; i < next[rank]; ++i) {
        RecordedCall &call = recordings[rank].calls[calls[rank][i]];
        elements = call.elements;
        if (i + 1 < next[rank]) {
          call.elements = 0;
          continue;
        }
        rt::RankGroup group;
        if (!mesh.group(int64_t(rank), axes, group).ok())
          continue;
        call.ranks = group.ranks;
        std::sort(call.ranks.begin(), call.ranks.end());
      }
    report.notes.push_back(
        fmt::format("a sum of {} elements over {} is made over groups of ranks "
                    "one after another: another way to the same sum",
                    elements, axesText(mesh, axes)));
    reset();
  }

  const rt::RankMesh &mesh;
  std::vector<Recording> &recordings;
  /// By rank: numbers of calls, and the next one and the first one of the sum
  /// under way.
  std::vector<std::vector<size_t>> calls;
  std::vector<size_t> next, begin;
  /// By rank: whose summands it has, and how many times.
  std::vector<std::map<int64_t, int64_t>> summands;
};

} // namespace

void tpsp::check::joinOddGroups(const rt::RankMesh &mesh,
                                std::vector<Recording> &recordings,
                                TraceReport &report) {
  if (int64_t(recordings.size()) != mesh.numRanks())
    return;
  std::map<int64_t, OddSums> bySize;
  for (size_t rank = 0; rank < recordings.size(); ++rank)
    for (size_t i = 0; i < recordings[rank].calls.size(); ++i) {
      const RecordedCall &call = recordings[rank].calls[i];
      if (call.kind == CollectiveKind::AllReduce && call.ranks.size() > 1 &&
          !axesOfRanks(mesh, int64_t(rank), call.ranks))
        bySize.try_emplace(call.elements, mesh, recordings)
            .first->second.add(rank, i);
    }
  for (auto &[elements, sums] : bySize)
    sums.join(report);
  for (Recording &each : recordings)
    each.calls.erase(std::remove_if(each.calls.begin(), each.calls.end(),
                                    [](const RecordedCall &call) {
                                      return call.elements == 0;
                                    }),
                     each.calls.end());
}
