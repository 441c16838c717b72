#include "TraceTimes.h"

#include "Ledger.h"

#include "tpsp/Abi/NamePattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

/// Equal for rows that differ in their layer alone.
static std::string keyOf(const LedgerRow &row) {
  return fmt::format("{} {} {} {} {}", nameOf(row.kind), nameOf(row.phase),
                     fmt::join(row.axes, ","), patternOf(row.tensor),
                     row.location);
}

TraceTimes::Line &TraceTimes::lineOf(const std::set<size_t> &rows) {
  std::set<std::string> keys;
  for (size_t row : rows)
    keys.insert(keyOf(plan.ledger[row]));
  auto [found, isNew] = byKey.try_emplace(
      fmt::format("{} {}", rows.size(), fmt::join(keys, ";")), lines.size());
  if (isNew) {
    Line &line = lines.emplace_back();
    const LedgerRow &first = plan.ledger[*rows.begin()];
    line.time.location = first.location;
    line.time.collective =
        fmt::format("{} of {} over {}", nameOf(first.kind),
                    patternOf(first.tensor), fmt::join(first.axes, " and "));
    if (rows.size() > 1)
      line.time.collective +=
          fmt::format(", and {} more in one call", rows.size() - 1);
  }
  lines[found->second].rows.insert(rows.begin(), rows.end());
  return lines[found->second];
}

void TraceTimes::addOccurrence(const std::set<size_t> &rows, const Calls &calls,
                               size_t earlier, const Recording &recording) {
  double seconds = 0, exposed = 0;
  bool isExposureKnown = true;
  for (size_t call : calls) {
    const RecordedCall &each = recording.calls[call - earlier];
    if (each.seconds < 0)
      return;
    seconds += each.seconds;
    exposed += each.exposedSeconds;
    isExposureKnown &= each.exposedSeconds >= 0;
  }
  Line &line = lineOf(rows);
  CollectiveTime &time = line.time;
  time.least = time.count == 0 ? seconds : std::min(time.least, seconds);
  time.most = std::max(time.most, seconds);
  ++time.count;
  line.sum += seconds;
  line.exposedSum += isExposureKnown ? exposed : 0;
  line.exposedCount += isExposureKnown;
  for (size_t row : rows)
    if (row < predicted.seconds.size())
      line.predictedSum += predicted.seconds[row];
}

void TraceTimes::addOccurrences(
    const std::set<size_t> &rows, const Calls &calls,
    const std::vector<const Recording *> &recordings, int64_t steps) {
  for (const Recording *recording : recordings) {
    size_t period = recording->calls.size() / size_t(steps);
    for (int64_t step = 0; step < steps; ++step)
      addOccurrence(rows, calls, size_t(step) * period, *recording);
  }
}

void TraceTimes::add(const Matching &matching,
                     const std::vector<const Recording *> &recordings,
                     int64_t steps, bool areEqual) {
  const RecordedCall *begin = recordings.front()->calls.data();
  std::map<size_t, std::set<size_t>> rowsOfCall;
  std::map<const Need *, Calls> callsOfNeed;
  for (const auto &[need, call] : matching.pairs) {
    auto number = size_t(call - begin);
    rowsOfCall[number].insert(size_t(need->row - plan.ledger.data()));
    callsOfNeed[need].push_back(number);
  }
  int64_t counted = areEqual ? steps : 1;
  for (const auto &[need, calls] : callsOfNeed) {
    bool isAlone = std::all_of(calls.begin(), calls.end(), [&](size_t call) {
      return rowsOfCall[call].size() == 1;
    });
    if (isAlone)
      addOccurrences(rowsOfCall[calls.front()], calls, recordings, counted);
  }
  for (const auto &[call, rows] : rowsOfCall)
    if (rows.size() > 1)
      addOccurrences(rows, {call}, recordings, counted);
  timedSteps += steps * int64_t(recordings.size());
}

void TraceTimes::finish(TraceReport &report) const {
  std::vector<const Line *> inOrder;
  for (const Line &line : lines)
    inOrder.push_back(&line);
  std::sort(inOrder.begin(), inOrder.end(), [](const Line *a, const Line *b) {
    return *a->rows.begin() < *b->rows.begin();
  });
  for (const Line *line : inOrder) {
    CollectiveTime time = line->time;
    time.mean = line->sum / double(time.count);
    if (line->exposedCount == time.count)
      time.exposed = line->exposedSum / double(time.count);
    if (!predicted.machine.empty())
      time.predicted = line->predictedSum / double(time.count);
    report.times.push_back(std::move(time));
  }
  report.machine = predicted.machine;
  report.timedSteps = timedSteps;
}
