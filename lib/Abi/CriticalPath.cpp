#include "tpsp/Abi/CriticalPath.h"

#include "tpsp/Abi/NumberedLists.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/RankMesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// The place of a span in a trace.
struct Place {
  size_t rank = 0, stream = 0, number = 0;
};

/// Walks from the end of a step back to its begin.
class PathWalk {
public:
  PathWalk(const Plan &plan, const std::vector<TraceRank> &ranks)
      : plan(plan), ranks(ranks) {
    hasMesh = RankMesh::create(plan.mesh, mesh).ok() &&
              mesh.numRanks() == int64_t(ranks.size());
    size_t events = 0;
    for (const PlanCommand &command : plan.commands)
      events = std::max(events, size_t(command.event + 1));
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      places.emplace_back(plan.commands.size(), [&](auto add) {
        forEachPlace(rank, [&](const Place &place) {
          add(spanAt(place).command, place);
        });
      });
      records.emplace_back(events, [&](auto add) {
        forEachPlace(rank, [&](const Place &place) {
          const PlanCommand &command = commandAt(place);
          if (command.kind == CommandKind::EventRecord)
            add(command.event, place);
        });
      });
      for (const std::vector<TraceSpan> &stream : ranks[rank].streams)
        spans += stream.size();
    }
  }

  CriticalPath run() {
    CriticalPath path;
    std::optional<Place> at = last();
    if (at)
      path.step = spanAt(*at).end;
    // Clocks of ranks and streams differ a little. Time in which the next
    // command of the path runs already counts once.
    double until = path.step;
    // A trace whose clock stands still may lead in a circle.
    for (size_t left = spans; at && left > 0; --left) {
      at = lastToEnter(*at);
      TraceSpan span = spanAt(*at);
      span.end = std::min(span.end, until);
      if (!plan.commands[span.command].isEvent() && span.seconds() > 0) {
        path.commands.push_back({at->rank, at->stream, span});
        path.seconds += span.seconds();
        until = span.begin;
      }
      at = before(*at);
    }
    std::reverse(path.commands.begin(), path.commands.end());
    return path;
  }

private:
  using PlaceLists = NumberedLists<Place>;

  const TraceSpan &spanAt(const Place &place) const {
    return ranks[place.rank].streams[place.stream][place.number];
  }

  const PlanCommand &commandAt(const Place &place) const {
    return plan.commands[spanAt(place).command];
  }

  template <typename Visit> void forEachPlace(size_t rank, Visit visit) const {
    for (size_t stream = 0; stream < ranks[rank].streams.size(); ++stream)
      for (size_t i = 0; i < ranks[rank].streams[stream].size(); ++i)
        visit(Place{rank, stream, i});
  }

  /// The span that ends last.
  std::optional<Place> last() const {
    std::optional<Place> found;
    for (const PlaceLists &own : places)
      for (size_t command = 0; command < own.size(); ++command)
        for (const Place &place : own[int64_t(command)])
          if (!found || spanAt(place).end > spanAt(*found).end)
            found = place;
    return found;
  }

  /// For a collective, its span on the rank of its group that begins it last.
  Place lastToEnter(const Place &place) const {
    int64_t number = spanAt(place).command;
    const PlanCommand &command = plan.commands[number];
    if (!command.communicates() || !hasMesh)
      return place;
    RankGroup group;
    std::vector<int64_t> axes(command.collective.axes.begin(),
                              command.collective.axes.end());
    if (!mesh.group(int64_t(place.rank), axes, group).ok())
      return place;
    const PlaceLists::List own = places[place.rank][number];
    size_t repetition = std::find_if(own.begin(), own.end(),
                                     [&](const Place &each) {
                                       return each.number == place.number;
                                     }) -
                        own.begin();
    Place latest = place;
    for (int64_t rank : group.ranks) {
      const PlaceLists::List other = places[rank][number];
      if (repetition < other.size() &&
          spanAt(other[repetition]).begin > spanAt(latest).begin)
        latest = other[repetition];
    }
    return latest;
  }

  /// The span that ends last of those that the span waits for.
  std::optional<Place> before(const Place &place) const {
    std::optional<Place> found;
    if (place.number > 0)
      found = Place{place.rank, place.stream, place.number - 1};
    const PlanCommand &command = commandAt(place);
    if (command.kind != CommandKind::EventWait)
      return found;
    // An event may be recorded again for a later wait.
    std::optional<Place> record;
    for (const Place &each : records[place.rank][command.event])
      if (spanAt(each).end <= spanAt(place).end)
        record = each;
    if (record && (!found || spanAt(*record).end > spanAt(*found).end))
      found = record;
    return found;
  }

  const Plan &plan;
  const std::vector<TraceRank> &ranks;
  RankMesh mesh;
  /// Whether the trace has all ranks of the mesh.
  bool hasMesh = false;
  size_t spans = 0;
  /// By rank and command, the command's spans in order. Micro-batches repeat
  /// commands.
  std::vector<PlaceLists> places;
  /// By rank and event, the spans that record the event.
  std::vector<PlaceLists> records;
};

} // namespace

CriticalPath tpsp::rt::criticalPath(const Plan &plan,
                                    const std::vector<TraceRank> &ranks) {
  return PathWalk(plan, ranks).run();
}

CriticalPath tpsp::rt::criticalPath(const StepTrace &trace) {
  CriticalPath path;
  path.commands = trace.critical;
  path.step = trace.seconds();
  for (const CriticalCommand &command : path.commands)
    path.seconds += command.span.seconds();
  return path;
}

void tpsp::rt::fillCriticalPath(StepTrace &trace) {
  if (trace.critical.empty())
    trace.critical = criticalPath(*trace.plan, trace.ranks).commands;
}

std::vector<CriticalStretch>
tpsp::rt::criticalStretches(const StepTrace &trace,
                            const std::vector<size_t> &ranks, double pause) {
  std::vector<CriticalStretch> stretches;
  const CriticalCommand *last = nullptr;
  for (const CriticalCommand &command : trace.critical) {
    bool goesOn = last && last->rank == command.rank &&
                  last->stream == command.stream &&
                  command.span.begin - last->span.end <= pause;
    last = &command;
    if (!std::binary_search(ranks.begin(), ranks.end(), command.rank))
      continue;
    if (goesOn)
      stretches.back().end = command.span.end;
    else
      stretches.push_back(
          {command.stream, command.span.begin, command.span.end});
  }
  return stretches;
}

static std::string kindOf(const Plan &plan, const PlanCommand &command) {
  if (command.kind != CommandKind::Collective)
    return nameOf(command.kind);
  std::vector<std::string> axes;
  for (AxisId axis : command.collective.axes)
    axes.push_back(plan.mesh[axis].name);
  std::string kind = nameOf(command.collective.kind);
  return axes.empty() ? kind
                      : fmt::format("{} over {}", kind, fmt::join(axes, ","));
}

KindOfCommand tpsp::rt::kindsOf(const Plan &plan) {
  return [&plan](const PlanCommand &command) { return kindOf(plan, command); };
}

std::vector<std::pair<std::string, double>>
tpsp::rt::criticalKinds(const Plan &plan, const CriticalPath &path,
                        const KindOfCommand &kindOf) {
  std::map<std::string, double> seconds;
  for (const CriticalCommand &command : path.commands)
    seconds[kindOf(plan.commands[command.span.command])] +=
        command.span.seconds();
  std::vector<std::pair<std::string, double>> kinds(seconds.begin(),
                                                    seconds.end());
  std::stable_sort(kinds.begin(), kinds.end(), [](auto &one, auto &other) {
    return one.second > other.second;
  });
  return kinds;
}

std::string tpsp::rt::criticalPathText(const Plan &plan,
                                       const CriticalPath &path,
                                       const KindOfCommand &kindOf) {
  if (path.commands.empty())
    return "";
  std::vector<std::string> parts;
  for (const auto &[kind, seconds] : criticalKinds(plan, path, kindOf))
    parts.push_back(fmt::format("{} {}", kind, secondsText(seconds)));
  return fmt::format("critical path {} of {}: {}", secondsText(path.seconds),
                     secondsText(path.step), fmt::join(parts, ", "));
}
