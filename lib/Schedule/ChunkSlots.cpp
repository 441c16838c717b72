#include "ChunkSlots.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace tpsp;
using Work = PipelineWork;

ChunkSlots::ChunkSlots(const PipelineRequest &request,
                       const PipelineProblem &problem,
                       const PipelineSchedule &schedule)
    : request(request), problem(problem), schedule(schedule) {
  for (const PipelineCommand &command : schedule.commands)
    ends[{command.work, command.chunk, command.part}] = command.end;
}

int64_t ChunkSlots::bytesOf(int64_t stage) const {
  int64_t scratch = 0, update = 0;
  std::map<unsigned, std::vector<Passed>> kinds;
  for (int64_t chunk : problem.chunksOf(stage)) {
    const ChunkWork &work = request.chunks[chunk].work;
    std::map<unsigned, int64_t> passed;
    for (auto [moments, bytes] : work.passed)
      if (unsigned own = inSegments(moments); own & (own - 1))
        passed[own] += bytes;
    for (auto [moments, bytes] : passed)
      kinds[moments].push_back({bytes, chunk});
    scratch = std::max(scratch, problem.splitsWeights ? work.scratchInParts
                                                      : work.scratch);
    update = std::max(update, work.peakUpdate);
  }
  int64_t slots = 0;
  for (auto &[moments, all] : kinds)
    slots += bytesOf(moments, std::move(all));
  return std::max(slots + scratch, update);
}

/// Chunks that pass about as many bytes share slots if that takes less, as in
/// StageArena.cpp.
int64_t ChunkSlots::bytesOf(unsigned moments, std::vector<Passed> all) const {
  std::sort(all.begin(), all.end(), std::greater<>());
  int64_t bytes = 0, apart = 0;
  for (auto [size, chunk] : all)
    apart += size * slotsOf({chunk}, moments);
  for (size_t i = 0; i < all.size();) {
    int64_t size = all[i].first;
    std::vector<int64_t> chunks;
    for (; i < all.size() && all[i].first >= size - size / 16; ++i)
      chunks.push_back(all[i].second);
    bytes += size * slotsOf(chunks, moments);
  }
  return std::min(bytes, apart);
}

/// The moments with those of the backward pass as one, if it is not split.
unsigned ChunkSlots::inSegments(unsigned moments) const {
  unsigned weights = bitOf(ChunkMoment::Weights);
  if (problem.splitsWeights || !(moments & weights))
    return moments;
  return (moments & ~weights) | bitOf(ChunkMoment::Input);
}

/// The begin and the end of a moment of a micro-batch; 0 if it has none.
std::pair<double, double> ChunkSlots::timeOf(ChunkMoment moment, int64_t chunk,
                                             int64_t part) const {
  auto of = [&](Work work, int64_t at) {
    auto known = ends.find({work, at, part});
    if (known == ends.end())
      return std::pair(0.0, 0.0);
    return std::pair(known->second - problem.secondsOf(work, at, part),
                     known->second);
  };
  // Within a stage a tensor arrives when it is made.
  auto arrival = [&](Work send, Work maker, int64_t from) {
    auto sent = of(send, from);
    double made = of(maker, from).second;
    return sent.second > 0 ? sent : std::pair(made, made);
  };
  // Nothing is sent within a stage; the next chunk holds the tensor.
  auto sending = [&](Work send, Work maker) {
    auto sent = of(send, chunk);
    return sent.second > 0 ? sent : of(maker, chunk);
  };
  switch (moment) {
  case ChunkMoment::Arrival:
    return arrival(Work::SendForward, Work::Forward, chunk - 1);
  case ChunkMoment::Forward:
    return of(Work::Forward, chunk);
  case ChunkMoment::Send:
    return sending(Work::SendForward, Work::Forward);
  case ChunkMoment::GradientArrival:
    return arrival(Work::SendBackward, Work::Backward, chunk + 1);
  case ChunkMoment::GradientSend:
    return sending(Work::SendBackward, Work::Backward);
  case ChunkMoment::Weights:
    return of(Work::Weights, chunk);
  case ChunkMoment::Input:
    break;
  }
  return of(Work::Backward, chunk);
}

/// The most micro-batches at once, of all `chunks`, that are between the first
/// and the last of `moments`.
int64_t ChunkSlots::slotsOf(const std::vector<int64_t> &chunks,
                            unsigned moments) const {
  // Begins are differences, and may be rounded to before another's end.
  const double rounding = 1e-9 * schedule.seconds;
  std::vector<std::pair<double, int>> changes;
  for (int64_t chunk : chunks)
    for (int64_t part = 0; part < request.parts; ++part) {
      auto [begin, end] = stayOf(moments, chunk, part);
      changes.push_back({begin + rounding, 1});
      changes.push_back({end, -1});
    }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (auto [time, change] : changes)
    most = std::max(most, now += change);
  return most;
}

/// The begin of the first of `moments`, and the end of the last.
std::pair<double, double> ChunkSlots::stayOf(unsigned moments, int64_t chunk,
                                             int64_t part) const {
  double begin = std::numeric_limits<double>::max(), end = 0;
  for (unsigned moment = 0; moment < numChunkMoments; ++moment) {
    if (!(moments & bitOf(ChunkMoment(moment))))
      continue;
    auto [from, to] = timeOf(ChunkMoment(moment), chunk, part);
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
  return {begin, end};
}
