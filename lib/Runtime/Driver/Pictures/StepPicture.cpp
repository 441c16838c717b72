#include "tpsp/Runtime/Driver/Pictures/StepPicture.h"

#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/Exposure.h"
#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

using namespace tpsp;
using namespace tpsp::rt;

//===----------------------------------------------------------------------===//
// Looks
//===----------------------------------------------------------------------===//

const std::array<Pattern, 10> tpsp::rt::patterns = {{
    {"dots", "M2 2.75h1.5M6 6.75h1.5", 1.5},
    {"columns", "M4 0V8", 1},
    {"rows", "M0 4H8", 1},
    {"rising", "M0 8L8 0", 1},
    {"rising wide", "M0 8L8 0", 2},
    {"falling", "M0 0L8 8", 1},
    {"falling wide", "M0 0L8 8", 2},
    {"crossed", "M0 8L8 0M0 0L8 8", 1},
    {"zigzag", "M0 6L4 2L8 6", 1},
    {"exposed", "M-2 2L2 -2M0 8L8 0M6 10L10 6M0 4L4 0M4 8L8 4", 1.6},
}};

const std::array<Look, 10> tpsp::rt::looks = {{
    {"matmul", "#b7cdf2", ""},
    {"attention", "#d9c3f2", "dots"},
    {"kernel", "#dcdfe4", "columns"},
    {"copy", "#ecdcae", "rows"},
    {"all_gather", "#7cc4b4", "rising"},
    {"reduce_scatter", "#9fd07e", "falling"},
    {"all_reduce", "#6fb4d6", "crossed"},
    {"all_to_all", "#d3d36a", "zigzag"},
    {"permute", "#d9a66e", "rising wide"},
    {"", "#e3b3cf", "falling wide"},
}};

const Pattern *tpsp::rt::findPattern(std::string_view name) {
  for (const Pattern &each : patterns)
    if (!name.empty() && each.name == name)
      return &each;
  return nullptr;
}

const Look &tpsp::rt::lookOf(std::string_view kind) {
  for (const Look &each : looks)
    if (each.kind == kind)
      return each;
  return looks.back();
}

const char *tpsp::rt::lookKind(const PlanCommand &command) {
  return command.kind == CommandKind::Collective
             ? nameOf(command.collective.kind)
             : nameOf(command.kind);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

double PictureLane::exposedSeconds(const TraceSpan &bar) const {
  auto first = std::partition_point(
      exposed.begin(), exposed.end(),
      [&](const PictureStretch &each) { return each.end <= bar.begin; });
  double seconds = 0;
  for (; first != exposed.end() && first->begin < bar.end; ++first)
    seconds +=
        std::min(first->end, bar.end) - std::max(first->begin, bar.begin);
  return seconds;
}

/// Whether some lane has stretches of a kind.
static bool haveStretches(const std::vector<PictureRanks> &ranks,
                          std::vector<PictureStretch> PictureLane::*kind) {
  for (const PictureRanks &each : ranks)
    for (const PictureLane &lane : each.lanes)
      if (!(lane.*kind).empty())
        return true;
  return false;
}

bool StepPicture::hasExposed() const {
  return haveStretches(ranks, &PictureLane::exposed);
}

bool StepPicture::hasCritical() const {
  return haveStretches(ranks, &PictureLane::critical);
}

namespace {

class PictureBuilder {
public:
  PictureBuilder(const StepTrace &trace, size_t mostBars, double invisible)
      : trace(trace), mostBars(mostBars), invisible(invisible) {}

  StepPicture build() {
    for (AlikeRanks &alike : alikeRanks(trace))
      picture.ranks.push_back({std::move(alike), {}});
    chooseBars();
    for (size_t group = 0; group < picture.ranks.size(); ++group)
      addLanes(group);
    addKinds();
    return std::move(picture);
  }

private:
  const TraceRank &rankOf(size_t group) const {
    return trace.ranks[picture.ranks[group].alike.ranks.front()];
  }

  /// Chooses the longest spans.
  void chooseBars() {
    using Place = std::tuple<double, size_t, size_t, size_t>;
    std::vector<Place> places;
    isShown.resize(picture.ranks.size());
    for (size_t group = 0; group < picture.ranks.size(); ++group) {
      const auto &streams = rankOf(group).streams;
      isShown[group].resize(streams.size());
      for (size_t stream = 0; stream < streams.size(); ++stream) {
        isShown[group][stream].resize(streams[stream].size());
        for (size_t i = 0; i < streams[stream].size(); ++i)
          if (const TraceSpan &span = streams[stream][i];
              !trace.plan->commands[span.command].isEvent())
            places.emplace_back(-span.seconds(), group, stream, i);
      }
    }
    size_t kept = std::min(places.size(), mostBars);
    std::nth_element(places.begin(), places.begin() + long(kept), places.end());
    picture.leftOut = places.size() - kept;
    for (size_t i = 0; i < places.size(); ++i) {
      auto [seconds, group, stream, span] = places[i];
      if (i < kept)
        isShown[group][stream][span] = true;
      else
        picture.leftOutSeconds -= seconds;
    }
  }

  void addLanes(size_t group) {
    const TraceRank &rank = rankOf(group);
    std::vector<PictureLane> &lanes = picture.ranks[group].lanes;
    std::vector<bool> isDrawn(trace.plan->commands.size());
    for (size_t stream = 0; stream < rank.streams.size(); ++stream) {
      PictureLane lane;
      lane.stream = stream;
      for (size_t i = 0; i < rank.streams[stream].size(); ++i)
        if (isShown[group][stream][i]) {
          lane.bars.push_back(rank.streams[stream][i]);
          isDrawn[lane.bars.back().command] = true;
        }
      if (!lane.bars.empty())
        lanes.push_back(std::move(lane));
    }
    for (PictureLane &lane : lanes)
      lane.name = lane.stream == 0   ? "compute"
                  : lanes.size() < 3 ? "comm."
                                     : fmt::format("comm. {}", lane.stream);
    addExposed(rank, isDrawn, lanes);
    for (const CriticalStretch &stretch :
         criticalStretches(trace, picture.ranks[group].alike.ranks, invisible))
      if (PictureLane *lane = laneOf(stretch.stream, lanes))
        lane->critical.push_back({stretch.begin, stretch.end});
  }

  static PictureLane *laneOf(size_t stream, std::vector<PictureLane> &lanes) {
    for (PictureLane &lane : lanes)
      if (lane.stream == stream)
        return &lane;
    return nullptr;
  }

  /// Adds the exposed pieces of drawn commands; those that touch become one.
  void addExposed(const TraceRank &rank, const std::vector<bool> &isDrawn,
                  std::vector<PictureLane> &lanes) {
    const CommunicationPiece *last = nullptr;
    std::vector<CommunicationPiece> all =
        communicationPieces(*trace.plan, rank);
    for (const CommunicationPiece &piece : all) {
      PictureLane *lane = laneOf(size_t(piece.stream), lanes);
      if (!piece.isExposed() || !isDrawn[piece.command] || !lane)
        continue;
      bool goesOn = last && last->command == piece.command &&
                    last->stream == piece.stream && last->end == piece.begin;
      if (goesOn)
        lane->exposed.back().end = piece.end;
      else
        lane->exposed.push_back({piece.begin, piece.end});
      last = &piece;
    }
  }

  void addKinds() {
    std::map<std::string_view, double> seconds;
    double ranks = 0;
    for (const PictureRanks &each : picture.ranks) {
      ranks += double(each.alike.size);
      for (const PictureLane &lane : each.lanes)
        for (const TraceSpan &bar : lane.bars)
          seconds[lookKind(trace.plan->commands[bar.command])] +=
              bar.seconds() * double(each.alike.size);
    }
    std::vector<std::pair<double, std::string_view>> order;
    for (auto [kind, total] : seconds)
      order.emplace_back(-total, kind);
    std::sort(order.begin(), order.end());
    for (auto [total, kind] : order) {
      std::string name(kind);
      std::replace(name.begin(), name.end(), '_', ' ');
      picture.kinds.push_back(
          {kind.data(), name + " " + secondsText(-total / ranks)});
    }
  }

  const StepTrace &trace;
  const size_t mostBars;
  const double invisible;
  StepPicture picture;
  /// By group, stream and span.
  std::vector<std::vector<std::vector<bool>>> isShown;
};

} // namespace

StepPicture tpsp::rt::stepPicture(const StepTrace &trace, size_t mostBars,
                                  double invisible) {
  return PictureBuilder(trace, mostBars, invisible).build();
}
