#include "PageJson.h"

#include "tpsp/Abi/AlikeRanks.h"
#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/Exposure.h"
#include "tpsp/Abi/MemoryUse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::ordered_json;

/// The most samples of a curve, and the most buffers at its peak, that a page
/// has.
static constexpr size_t mostSamples = 1500, mostBuffers = 24;

static int64_t nanoseconds(double seconds) {
  return std::llround(1e9 * seconds);
}

namespace {

/// Writes repeated texts once.
class Words {
public:
  size_t numberOf(const std::string &word) {
    auto [place, isNew] = numbers.try_emplace(word, words.size());
    if (isNew)
      words.push_back(word);
    return place->second;
  }
  const Json &all() const { return words; }

private:
  std::map<std::string, size_t> numbers;
  Json words = Json::array();
};

class StepWriter {
public:
  explicit StepWriter(const StepTrace &trace)
      : plan(*trace.plan), trace(trace), groups(alikeRanks(trace)),
        numbers(plan.commands.size(), -1) {
    chooseSpans();
  }

  Json write() {
    Json ranks = Json::array();
    for (size_t group = 0; group < groups.size(); ++group)
      ranks.push_back(rankJson(group));
    return {{"title", trace.title},
            {"setting", trace.setting},
            {"nanoseconds", nanoseconds(trace.seconds())},
            {"arena", plan.arenaBytes},
            {"left_out", leftOut},
            {"words", words.all()},
            {"command_fields",
             {"kind", "name", "location", "phase", "row", "flops", "bytes"}},
            {"commands", commands},
            {"ranks", ranks}};
  }

private:
  /// Chooses the longest spans; events are left out.
  void chooseSpans() {
    using Place = std::tuple<double, size_t, size_t, size_t>;
    std::vector<Place> places;
    isShown.resize(groups.size());
    for (size_t group = 0; group < groups.size(); ++group) {
      const auto &streams = rankOf(group).streams;
      isShown[group].resize(streams.size());
      for (size_t stream = 0; stream < streams.size(); ++stream) {
        isShown[group][stream].resize(streams[stream].size());
        for (size_t i = 0; i < streams[stream].size(); ++i)
          if (const TraceSpan &span = streams[stream][i];
              !plan.commands[span.command].isEvent())
            places.emplace_back(-span.seconds(), group, stream, i);
      }
    }
    size_t kept = std::min(places.size(), mostPageCommands);
    std::nth_element(places.begin(), places.begin() + long(kept), places.end());
    double seconds = 0;
    for (size_t i = kept; i < places.size(); ++i)
      seconds -= std::get<0>(places[i]);
    leftOut = {{"commands", places.size() - kept},
               {"nanoseconds", nanoseconds(seconds)}};
    for (size_t i = 0; i < kept; ++i) {
      auto [ignored, group, stream, span] = places[i];
      isShown[group][stream][span] = true;
    }
  }

  size_t numberOf(int64_t id) {
    int64_t &number = numbers[id];
    if (number >= 0)
      return size_t(number);
    number = int64_t(commands.size());
    commands.push_back(commandJson(plan.commands[id]));
    return size_t(number);
  }

  Json commandJson(const PlanCommand &command) {
    bool isCollective = command.kind == CommandKind::Collective;
    double flops = command.kind == CommandKind::Matmul ? command.matmul.flops()
                   : command.kind == CommandKind::Attention
                       ? command.attention.flops()
                       : 0;
    return {words.numberOf(isCollective ? nameOf(command.collective.kind)
                                        : nameOf(command.kind)),
            words.numberOf(command.name()),
            words.numberOf(command.location),
            command.phase,
            isCollective ? command.collective.row : -1,
            std::llround(flops),
            isCollective ? command.collective.bytesSent
                         : command.bytesRead() + command.bytesWritten()};
  }

  const TraceRank &rankOf(size_t group) const {
    return trace.ranks[groups[group].ranks.front()];
  }

  Json rankJson(size_t group) {
    const TraceRank &rank = rankOf(group);
    Json streams = Json::array();
    std::vector<bool> isWritten(plan.commands.size());
    for (size_t stream = 0; stream < rank.streams.size(); ++stream) {
      Json spans = Json::array();
      for (size_t i = 0; i < rank.streams[stream].size(); ++i) {
        if (!isShown[group][stream][i])
          continue;
        const TraceSpan &span = rank.streams[stream][i];
        isWritten[span.command] = true;
        spans.insert(spans.end(), {Json(numberOf(span.command)),
                                   Json(nanoseconds(span.begin)),
                                   Json(nanoseconds(span.end))});
      }
      if (!spans.empty())
        streams.push_back({{"stream", stream}, {"spans", std::move(spans)}});
    }
    return {{"name", groups[group].name},
            {"alike", groups[group].size},
            {"streams", std::move(streams)},
            {"exposed", exposedJson(rank, isWritten)},
            {"critical", criticalJson(groups[group])},
            {"memory", curveJson(rank)},
            {"peak", peakJson(rank)}};
  }

  /// For each stretch of a shown collective that nothing hides: stream, begin
  /// and end.
  Json exposedJson(const TraceRank &rank, const std::vector<bool> &isWritten) {
    Json pieces = Json::array();
    const CommunicationPiece *last = nullptr;
    std::vector<CommunicationPiece> all = communicationPieces(plan, rank);
    for (const CommunicationPiece &piece : all) {
      if (!piece.isExposed() || !isWritten[piece.command])
        continue;
      bool goesOn = last && last->command == piece.command &&
                    last->stream == piece.stream && last->end == piece.begin;
      if (goesOn)
        pieces.back() = nanoseconds(piece.end);
      else
        pieces.insert(pieces.end(),
                      {Json(piece.stream), Json(nanoseconds(piece.begin)),
                       Json(nanoseconds(piece.end))});
      last = &piece;
    }
    return pieces;
  }

  /// For each stretch of the critical path: stream, begin and end. Pauses that
  /// no picture shows do not end a stretch.
  Json criticalJson(const AlikeRanks &group) const {
    Json pieces = Json::array();
    for (const CriticalStretch &stretch : criticalStretches(
             trace, group.ranks, trace.seconds() / double(mostSamples)))
      pieces.insert(pieces.end(),
                    {Json(stretch.stream), Json(nanoseconds(stretch.begin)),
                     Json(nanoseconds(stretch.end))});
    return pieces;
  }

  /// Times and bytes. Of samples that fall together, only the highest and the
  /// last are kept.
  Json curveJson(const TraceRank &rank) const {
    Json curve = Json::array();
    const std::vector<TraceSample> &samples = rank.memory;
    double apart = samples.size() > mostSamples
                       ? 2 * trace.seconds() / double(mostSamples)
                       : 0;
    auto write = [&](double seconds, double bytes) {
      curve.insert(curve.end(),
                   {Json(nanoseconds(seconds)), Json(std::llround(bytes))});
    };
    for (size_t i = 0; i < samples.size();) {
      double begin = samples[i].seconds, highest = samples[i].value,
             last = highest;
      for (++i; i < samples.size() && samples[i].seconds < begin + apart; ++i) {
        highest = std::max(highest, samples[i].value);
        last = samples[i].value;
      }
      write(begin, highest);
      if (last != highest)
        write(begin + apart, last);
    }
    return curve;
  }

  /// The peak of the memory curve, and the largest buffers then in use. Plans
  /// of stages have a curve, but no buffers.
  Json peakJson(const TraceRank &rank) const {
    MemoryUse use = memoryUse(plan, rank);
    auto highest = std::max_element(rank.memory.begin(), rank.memory.end(),
                                    [](const auto &one, const auto &other) {
                                      return one.value < other.value;
                                    });
    TraceSample peak = highest == rank.memory.end() ? TraceSample() : *highest;
    Json live = Json::array();
    for (int64_t number : use.liveAtPeak) {
      if (live.size() == mostBuffers)
        break;
      const PlanBuffer &buffer = plan.buffers[number];
      live.push_back({{"name", buffer.name},
                      {"kind", nameOf(buffer.kind)},
                      {"bytes", buffer.bytes}});
    }
    return {{"nanoseconds", nanoseconds(peak.seconds)},
            {"bytes", std::llround(peak.value)},
            {"buffers", use.liveAtPeak.size()},
            {"largest", std::move(live)}};
  }

  const Plan &plan;
  const StepTrace &trace;
  std::vector<AlikeRanks> groups;
  /// By group, stream and span.
  std::vector<std::vector<std::vector<bool>>> isShown;
  /// The position of each command in `commands`; -1 for commands that are left
  /// out.
  std::vector<int64_t> numbers;
  Words words;
  Json commands = Json::array(), leftOut;
};

} // namespace

Json tpsp::rt::pageStep(const StepTrace &trace) {
  return trace.ranks.empty() ? Json() : StepWriter(trace).write();
}
