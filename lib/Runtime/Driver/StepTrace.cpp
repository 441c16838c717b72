#include "tpsp/Runtime/Driver/StepTrace.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::rt;

double StepTrace::seconds() const {
  double last = 0;
  for (const TraceRank &rank : ranks)
    for (const std::vector<TraceSpan> &stream : rank.streams)
      for (const TraceSpan &span : stream)
        last = std::max(last, span.end);
  return last;
}

std::string tpsp::rt::rankName(const RankMesh &mesh, int64_t rank) {
  std::string text = fmt::format("rank {}", rank);
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    text += fmt::format("{} {}={}", axis == 0 ? ":" : "",
                        mesh.axes()[axis].name, coordinates[axis]);
  return text;
}

StepTrace tpsp::rt::emptyTrace(const Manifest &manifest) {
  StepTrace trace;
  trace.program = manifest.program;
  trace.arenaBytes = manifest.arenaBytes;
  trace.commands.resize(manifest.commands);
  trace.collectives = manifest.collectives;
  for (size_t row = 0; row < manifest.collectives.size(); ++row)
    for (int64_t id : manifest.collectives[row].commands) {
      if (id < 0 || id >= manifest.commands)
        continue;
      trace.commands[id].kind = TraceCommand::Kind::Collective;
      trace.commands[id].collective = static_cast<int64_t>(row);
      trace.commands[id].location = manifest.collectives[row].location;
    }
  RankMesh mesh;
  if (!RankMesh::create(manifest.mesh, mesh).ok())
    mesh = RankMesh();
  trace.ranks.resize(manifest.numRanks());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank)
    trace.ranks[rank].name = rankName(mesh, static_cast<int64_t>(rank));
  return trace;
}

namespace {

/// A value that changes by steps, from its changes in any order.
class StepCurve {
public:
  void add(double seconds, double change) {
    changes.push_back({seconds, change});
  }

  std::vector<TraceSample> samples() {
    // What ends is gone before what begins at the same time is there.
    std::sort(changes.begin(), changes.end(),
              [](const TraceSample &a, const TraceSample &b) {
                return a.seconds != b.seconds ? a.seconds < b.seconds
                                              : a.value < b.value;
              });
    std::vector<TraceSample> curve;
    double value = 0;
    for (const TraceSample &change : changes) {
      value += change.value;
      if (curve.empty() || curve.back().seconds != change.seconds)
        curve.push_back({change.seconds, value});
      else
        curve.back().value = value;
    }
    return curve;
  }

private:
  std::vector<TraceSample> changes;
};

} // namespace

std::vector<TraceSample> tpsp::rt::memoryInUse(const StepTrace &trace,
                                               int64_t rank) {
  if (trace.buffers.empty())
    return {};
  std::vector<const TraceSpan *> spanOf(trace.commands.size());
  for (const std::vector<TraceSpan> &stream : trace.ranks[rank].streams)
    for (const TraceSpan &span : stream)
      spanOf[span.command] = &span;
  StepCurve curve;
  curve.add(0, 0);
  for (const TraceBuffer &buffer : trace.buffers) {
    const TraceSpan *first = nullptr, *last = nullptr;
    for (int64_t user : buffer.users) {
      const TraceSpan *span = spanOf[user];
      if (!span)
        continue;
      if (!first || span->begin < first->begin)
        first = span;
      if (!last || span->end > last->end)
        last = span;
    }
    if (buffer.lasts) {
      curve.add(0, static_cast<double>(buffer.bytes));
      continue;
    }
    if (!first)
      continue;
    curve.add(first->begin, static_cast<double>(buffer.bytes));
    curve.add(last->end, -static_cast<double>(buffer.bytes));
  }
  return curve.samples();
}

std::vector<TraceSample> tpsp::rt::averageSending(const StepTrace &trace,
                                                  int64_t rank) {
  StepCurve curve;
  for (const std::vector<TraceSpan> &stream : trace.ranks[rank].streams)
    for (const TraceSpan &span : stream) {
      int64_t row = trace.commands[span.command].collective;
      if (row < 0 || !(span.end > span.begin))
        continue;
      const ManifestCollective &collective = trace.collectives[row];
      // The parts of a collective that was cut are equal.
      double bytes = static_cast<double>(collective.bytes) /
                     static_cast<double>(collective.commands.size());
      double rate = bytes / (span.end - span.begin);
      curve.add(span.begin, rate);
      curve.add(span.end, -rate);
    }
  std::vector<TraceSample> samples = curve.samples();
  for (TraceSample &sample : samples) // what rounding leaves of nothing
    if (sample.value < 1)
      sample.value = 0;
  return samples;
}

void tpsp::rt::fillCounters(StepTrace &trace) {
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    TraceRank &filled = trace.ranks[rank];
    if (filled.memory.empty())
      filled.memory = memoryInUse(trace, static_cast<int64_t>(rank));
    if (filled.sending.empty())
      filled.sending = averageSending(trace, static_cast<int64_t>(rank));
  }
}
