#include "tpsp/Abi/StepTrace.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Abi/RankMesh.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;

double StepTrace::seconds() const {
  double last = 0;
  for (const TraceRank &rank : ranks)
    for (const std::vector<TraceSpan> &stream : rank.streams)
      for (const TraceSpan &span : stream)
        last = std::max(last, span.end);
  return last;
}

static std::string rankName(const rt::RankMesh &mesh, int64_t rank) {
  std::string text = fmt::format("rank {}", rank);
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    text += fmt::format("{} {}={}", axis == 0 ? ":" : "",
                        mesh.axes()[axis].name, coordinates[axis]);
  return text;
}

StepTrace tpsp::emptyTrace(std::shared_ptr<const Plan> plan) {
  StepTrace trace;
  trace.title = plan->program;
  rt::RankMesh mesh;
  if (!rt::RankMesh::create(plan->mesh, mesh).ok())
    mesh = rt::RankMesh();
  trace.ranks.resize(mesh.numRanks());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank)
    trace.ranks[rank].name = rankName(mesh, int64_t(rank));
  trace.plan = std::move(plan);
  return trace;
}

std::vector<TraceSample> tpsp::samplesOf(std::vector<TraceSample> changes) {
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

std::vector<TraceSample> tpsp::averageSending(const Plan &plan,
                                              const TraceRank &rank) {
  std::vector<TraceSample> changes;
  for (const std::vector<TraceSpan> &stream : rank.streams)
    for (const TraceSpan &span : stream) {
      int64_t number = plan.commands[span.command].collective.row;
      if (number < 0 || !(span.end > span.begin))
        continue;
      const LedgerRow &row = plan.ledger[number];
      // The parts of a collective that was cut are equal.
      double rate =
          double(row.bytes) / double(row.commands.size()) / span.seconds();
      changes.push_back({span.begin, rate});
      changes.push_back({span.end, -rate});
    }
  std::vector<TraceSample> samples = samplesOf(std::move(changes));
  for (TraceSample &sample : samples) // rounding may leave a remainder
    if (sample.value < 1)
      sample.value = 0;
  return samples;
}

void tpsp::fillCounters(StepTrace &trace) {
  for (TraceRank &rank : trace.ranks) {
    if (rank.memory.empty())
      rank.memory = memoryUse(*trace.plan, rank).curve;
    if (rank.sending.empty())
      rank.sending = averageSending(*trace.plan, rank);
  }
}
