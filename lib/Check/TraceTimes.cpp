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

TraceTimes::Line &TraceTimes::lineOf(const Occurrence &occurrence) {
  const std::set<size_t> rows(occurrence.rows.begin(), occurrence.rows.end());
  std::set<std::string> keys;
  for (size_t row : rows)
    keys.insert(keyOf(plan.ledger[row]));
  size_t calls = rows.size() > 1 ? occurrence.calls.size() : 1;
  auto [found, isNew] = byKey.try_emplace(
      fmt::format("{} {} {}", rows.size(), calls, fmt::join(keys, ";")),
      lines.size());
  if (isNew) {
    Line &line = lines.emplace_back();
    const LedgerRow &first = plan.ledger[*rows.begin()];
    line.time.location = first.location;
    line.time.collective =
        fmt::format("{} of {} over {}", nameOf(first.kind),
                    patternOf(first.tensor), fmt::join(first.axes, " and "));
    if (rows.size() > 1)
      line.time.collective +=
          fmt::format(", and {} more in {}", rows.size() - 1,
                      calls == 1 ? "one call" : fmt::format("{} calls", calls));
  }
  lines[found->second].rows.insert(rows.begin(), rows.end());
  return lines[found->second];
}

void TraceTimes::addOccurrence(const Occurrence &occurrence, size_t earlier,
                               const Recording &recording) {
  double seconds = 0, exposed = 0;
  bool isExposureKnown = true;
  for (size_t call : occurrence.calls) {
    const RecordedCall &each = recording.calls[call - earlier];
    if (each.seconds < 0)
      return;
    seconds += each.seconds;
    exposed += each.exposedSeconds;
    isExposureKnown &= each.exposedSeconds >= 0;
  }
  Line &line = lineOf(occurrence);
  CollectiveTime &time = line.time;
  time.least = time.count == 0 ? seconds : std::min(time.least, seconds);
  time.most = std::max(time.most, seconds);
  ++time.count;
  line.sum += seconds;
  line.exposedSum += isExposureKnown ? exposed : 0;
  line.exposedCount += isExposureKnown;
  for (size_t row : occurrence.rows)
    if (row < predicted.seconds.size())
      line.predictedSum += predicted.seconds[row];
}

std::vector<TraceTimes::Occurrence>
TraceTimes::occurrencesOf(const Matching &matching,
                          const RecordedCall *begin) const {
  // Rows and calls are numbered together, rows first.
  const size_t numNeeds = matching.needs.size();
  std::map<size_t, size_t> above;
  auto top = [&](size_t number) {
    above.try_emplace(number, number);
    while (above[number] != number)
      number = above[number] = above[above[number]];
    return number;
  };
  for (const auto &[need, call] : matching.pairs)
    above[top(numNeeds + size_t(call - begin))] =
        top(size_t(need - matching.needs.data()));
  std::vector<size_t> numbers;
  for (const auto &[number, its] : above)
    numbers.push_back(number);
  std::map<size_t, Occurrence> byTop;
  for (size_t number : numbers) {
    Occurrence &own = byTop[top(number)];
    if (number < numNeeds)
      own.rows.push_back(
          size_t(matching.needs[number].row - plan.ledger.data()));
    else
      own.calls.push_back(number - numNeeds);
  }
  std::vector<Occurrence> occurrences;
  for (auto &[number, own] : byTop)
    occurrences.push_back(std::move(own));
  return occurrences;
}

void TraceTimes::add(const Matching &matching,
                     const std::vector<const Recording *> &recordings,
                     int64_t steps, bool areEqual) {
  std::vector<Occurrence> occurrences =
      occurrencesOf(matching, recordings.front()->calls.data());
  int64_t counted = areEqual ? steps : 1;
  for (const Occurrence &each : occurrences)
    for (const Recording *recording : recordings) {
      size_t period = recording->calls.size() / size_t(steps);
      for (int64_t step = 0; step < counted; ++step)
        addOccurrence(each, size_t(step) * period, *recording);
    }
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
