#include "tpsp/Abi/AlikeRanks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

using namespace tpsp;

static bool isSame(const TraceSpan &one, const TraceSpan &other) {
  return one.command == other.command && one.begin == other.begin &&
         one.end == other.end;
}

static bool isSame(const TraceSample &one, const TraceSample &other) {
  return one.seconds == other.seconds && one.value == other.value;
}

template <typename T>
static bool areSame(const std::vector<T> &some, const std::vector<T> &others) {
  return std::equal(
      some.begin(), some.end(), others.begin(), others.end(),
      [](const T &one, const T &other) { return isSame(one, other); });
}

static bool areAlike(const TraceRank &one, const TraceRank &other) {
  return areSame(one.memory, other.memory) &&
         std::equal(one.streams.begin(), one.streams.end(),
                    other.streams.begin(), other.streams.end(),
                    areSame<TraceSpan>);
}

/// Seconds of all spans: few ranks that differ have the same.
static double secondsOf(const TraceRank &rank) {
  double seconds = 0;
  for (const std::vector<TraceSpan> &stream : rank.streams)
    for (const TraceSpan &span : stream)
      seconds += span.end + span.seconds();
  return seconds;
}

static std::string groupName(const StepTrace &trace, const AlikeRanks &alike) {
  if (alike.size == 1)
    return trace.ranks[alike.ranks.front()].name;
  std::vector<int64_t> numbers(alike.ranks.begin(), alike.ranks.end());
  for (auto next = int64_t(trace.ranks.size());
       int64_t(numbers.size()) < alike.size; ++next)
    numbers.push_back(next);
  return ranksText(numbers);
}

std::vector<AlikeRanks> tpsp::alikeRanks(const StepTrace &trace) {
  std::vector<AlikeRanks> all;
  std::map<double, std::vector<size_t>> groupsBySeconds;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::vector<size_t> &groups = groupsBySeconds[secondsOf(trace.ranks[rank])];
    auto found = std::find_if(groups.begin(), groups.end(), [&](size_t group) {
      return areAlike(trace.ranks[all[group].ranks.front()], trace.ranks[rank]);
    });
    size_t group = found == groups.end() ? all.size() : *found;
    if (found == groups.end()) {
      groups.push_back(group);
      all.emplace_back();
    }
    all[group].ranks.push_back(rank);
    ++all[group].size;
    if (rank + 1 == trace.ranks.size())
      all[group].size += trace.furtherRanks;
  }
  for (AlikeRanks &alike : all)
    alike.name = groupName(trace, alike);
  return all;
}

/// Pairs of positions: the first and the last rank of consecutive ranks. Two
/// consecutive ranks are two runs.
static std::vector<std::pair<size_t, size_t>>
runsOf(const std::vector<int64_t> &ranks) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    if (last == first + 1)
      last = first;
    runs.emplace_back(first, last);
    first = last + 1;
  }
  return runs;
}

std::string tpsp::ranksText(const std::vector<int64_t> &ranks) {
  constexpr size_t mostRuns = 4, shownRuns = 3;
  if (ranks.size() == 1)
    return fmt::format("rank {}", ranks.front());
  std::vector<std::pair<size_t, size_t>> runs = runsOf(ranks);
  if (runs.size() > mostRuns)
    runs.resize(shownRuns);
  std::vector<std::string> texts;
  for (auto [first, last] : runs)
    texts.push_back(last == first
                        ? fmt::format("{}", ranks[first])
                        : fmt::format("{} to {}", ranks[first], ranks[last]));
  std::string text = fmt::format("ranks {}", fmt::join(texts, ", "));
  size_t more = ranks.size() - 1 - runs.back().second;
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}
