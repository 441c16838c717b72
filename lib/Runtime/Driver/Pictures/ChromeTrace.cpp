#include "tpsp/Runtime/Driver/Pictures/ChromeTrace.h"

#include "Runtime/Driver/Files/EnumJson.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::ordered_json;

/// Microseconds are the format's unit.
static double microseconds(double seconds) { return 1e6 * seconds; }

static const char *categoryOf(const PlanCommand &command) {
  if (command.isEvent())
    return "event";
  return command.computes() ? "compute" : "collective";
}

namespace {

/// The events of one rank.
class RankEvents {
public:
  /// `reads` is readsOf() of the trace's plan.
  RankEvents(const StepTrace &trace, size_t rank,
             const std::vector<std::vector<int64_t>> &reads, Json &events)
      : plan(*trace.plan), reads(reads), rank(trace.ranks[rank]), pid(rank),
        events(events), ran(reads.size()) {}

  void write() {
    writeMetadata("process_name", 0, rank.name);
    for (size_t stream = 0; stream < rank.streams.size(); ++stream) {
      if (rank.streams[stream].empty())
        continue;
      writeMetadata("thread_name", stream,
                    stream == 0 ? "compute"
                                : fmt::format("communication {}", stream));
      for (const TraceSpan &span : rank.streams[stream])
        writeSpan(span, stream);
    }
    writeFlows();
    writeCounter("memory in use", "bytes", rank.memory);
    writeCounter("sending", "bytes per second", rank.sending);
  }

private:
  /// The time and the stream at which a command ran.
  struct Ran {
    const TraceSpan *span = nullptr;
    size_t stream = 0;
  };

  Json event(const char *phase, size_t stream, const std::string &name) const {
    return {{"name", name}, {"ph", phase}, {"pid", pid}, {"tid", stream}};
  }

  /// Names a process (the rank) or a thread (a stream).
  void writeMetadata(const char *what, size_t stream, const std::string &name) {
    Json metadata = event("M", stream, what);
    metadata["args"] = {{"name", name}};
    events.push_back(std::move(metadata));
  }

  void writeSpan(const TraceSpan &span, size_t stream) {
    ran[span.command] = {&span, stream};
    const PlanCommand &command = plan.commands[span.command];
    Json entry = event("X", stream, command.name());
    entry["cat"] = categoryOf(command);
    entry["ts"] = microseconds(span.begin);
    entry["dur"] = microseconds(span.end - span.begin);
    entry["args"] = details(span.command);
    events.push_back(std::move(entry));
  }

  /// The details that the viewer shows for a selected command.
  Json details(int64_t id) const {
    const PlanCommand &command = plan.commands[id];
    Json args = {{"id", id}, {"location", command.location}};
    if (command.collective.row < 0)
      return args;
    LedgerRow::visitFacts(
        plan.ledger[command.collective.row],
        [&](const char *name, const auto &fact) { args[name] = fact; });
    return args;
  }

  /// Writes arrows to commands that read a result on another stream. Within a
  /// stream, the order shows the dependence.
  void writeFlows() {
    for (size_t reader = 0; reader < reads.size(); ++reader)
      for (int64_t writer : reads[reader]) {
        const Ran &from = ran[writer], &to = ran[reader];
        if (!from.span || !to.span || from.stream == to.stream)
          continue;
        int64_t id = static_cast<int64_t>(pid) * arrowsPerRank + numArrows++;
        // Each end of an arrow belongs to the event that is open at its time.
        Json start = event("s", from.stream, "result");
        start["cat"] = "flow";
        start["id"] = id;
        start["ts"] = microseconds(from.span->begin +
                                   0.999 * (from.span->end - from.span->begin));
        Json finish = event("f", to.stream, "result");
        finish["cat"] = "flow";
        finish["id"] = id;
        finish["bp"] = "e";
        finish["ts"] = microseconds(to.span->begin);
        events.push_back(std::move(start));
        events.push_back(std::move(finish));
      }
  }

  void writeCounter(const char *name, const char *unit,
                    const std::vector<TraceSample> &samples) {
    for (const TraceSample &sample : samples) {
      Json counter = event("C", 0, name);
      counter["ts"] = microseconds(sample.seconds);
      counter["args"] = {{unit, sample.value}};
      events.push_back(std::move(counter));
    }
  }

  /// Ranges of arrow numbers for each rank, so that numbers differ between
  /// ranks.
  static constexpr int64_t arrowsPerRank = int64_t(1) << 32;

  const Plan &plan;
  const std::vector<std::vector<int64_t>> &reads;
  const TraceRank &rank;
  size_t pid;
  Json &events;
  std::vector<Ran> ran;
  int64_t numArrows = 0;
};

} // namespace

/// Says which ranks the trace leaves out.
static std::string settingOf(const StepTrace &trace) {
  return trace.furtherRanks == 0
             ? trace.setting
             : fmt::format("{}, the first {} ranks of {}", trace.setting,
                           trace.ranks.size(),
                           int64_t(trace.ranks.size()) + trace.furtherRanks);
}

std::string tpsp::rt::toChromeJson(const StepTrace &trace,
                                   const std::string &) {
  return toChromeJson(trace);
}

std::string tpsp::rt::toChromeJson(const StepTrace &trace) {
  Json events = Json::array();
  const std::vector<std::vector<int64_t>> reads = readsOf(*trace.plan);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank)
    RankEvents(trace, rank, reads, events).write();
  Json json = {
      {"displayTimeUnit", "ms"},
      {"otherData", {{"program", trace.title}, {"setting", settingOf(trace)}}},
      {"traceEvents", std::move(events)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}
