#include "PageJson.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Runtime/Driver/Pictures/StepPicture.h"

#include <algorithm>
#include <cmath>
#include <map>

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
      : plan(*trace.plan), trace(trace),
        picture(stepPicture(trace, mostPageCommands,
                            trace.seconds() / double(mostSamples))),
        numbers(plan.commands.size(), -1) {}

  Json write() {
    Json ranks = Json::array();
    for (const PictureRanks &each : picture.ranks)
      ranks.push_back(rankJson(each));
    return {{"title", trace.title},
            {"setting", trace.setting},
            {"nanoseconds", nanoseconds(trace.seconds())},
            {"arena", plan.arenaBytes},
            {"left_out",
             {{"commands", picture.leftOut},
              {"nanoseconds", nanoseconds(picture.leftOutSeconds)}}},
            {"legend", legendJson()},
            {"words", words.all()},
            {"command_fields",
             {"kind", "name", "location", "phase", "row", "flops", "bytes"}},
            {"commands", commands},
            {"ranks", ranks}};
  }

private:
  /// The legend's rows: a kind, or "exposed" or "critical", and its text.
  Json legendJson() const {
    Json legend = Json::array();
    for (const PictureKind &each : picture.kinds)
      legend.push_back({each.kind, each.text});
    if (picture.hasExposed())
      legend.push_back({"exposed", exposedText});
    if (picture.hasCritical())
      legend.push_back({"critical", criticalText});
    return legend;
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
    return {words.numberOf(lookKind(command)),
            words.numberOf(command.name()),
            words.numberOf(command.location),
            command.phase,
            isCollective ? command.collective.row : -1,
            std::llround(flops),
            isCollective ? command.collective.bytesSent
                         : command.bytesRead() + command.bytesWritten()};
  }

  Json rankJson(const PictureRanks &each) {
    const TraceRank &rank = trace.ranks[each.alike.ranks.front()];
    Json streams = Json::array(), exposed = Json::array(),
         critical = Json::array();
    for (const PictureLane &lane : each.lanes) {
      Json spans = Json::array();
      for (const TraceSpan &bar : lane.bars)
        add(spans, numberOf(bar.command), bar.begin, bar.end);
      for (const PictureStretch &stretch : lane.exposed)
        add(exposed, lane.stream, stretch.begin, stretch.end);
      for (const PictureStretch &stretch : lane.critical)
        add(critical, lane.stream, stretch.begin, stretch.end);
      streams.push_back({{"stream", lane.stream},
                         {"name", lane.name},
                         {"spans", std::move(spans)}});
    }
    return {{"name", each.alike.name},         {"alike", each.alike.size},
            {"streams", std::move(streams)},   {"exposed", std::move(exposed)},
            {"critical", std::move(critical)}, {"memory", curveJson(rank)},
            {"peak", peakJson(rank)}};
  }

  /// Adds a command or stream, and when it begins and ends.
  static void add(Json &list, size_t what, double begin, double end) {
    list.insert(list.end(),
                {Json(what), Json(nanoseconds(begin)), Json(nanoseconds(end))});
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
  const StepPicture picture;
  /// The position of each command in `commands`; -1 for commands that are left
  /// out.
  std::vector<int64_t> numbers;
  Words words;
  Json commands = Json::array();
};

} // namespace

Json tpsp::rt::pageLooks() {
  Json strokes = Json::object(), kinds = Json::object();
  for (const Pattern &each : patterns)
    strokes[each.name] = {{"path", each.path}, {"width", each.width}};
  for (const Look &each : looks)
    kinds[each.kind] = {{"fill", each.fill}, {"pattern", each.pattern}};
  return {{"patterns", strokes},
          {"kinds", kinds},
          {"exposed", exposedColour},
          {"critical", criticalColour}};
}

Json tpsp::rt::pageStep(const StepTrace &trace) {
  return trace.ranks.empty() ? Json() : StepWriter(trace).write();
}
