/// The memory that micro-batches under way need on a stage.
#ifndef TPSP_SCHEDULE_CHUNKSLOTS_H
#define TPSP_SCHEDULE_CHUNKSLOTS_H

#include "tpsp/Schedule/PipelineStep.h"

namespace tpsp {

/// Tensors that pass from one segment to another have a slot for every
/// micro-batch under way, as in the arena of a compiled step (StageOrder.h).
class ChunkSlots {
public:
  /// All of them must outlive it.
  ChunkSlots(const PipelineRequest &request, const PipelineProblem &problem,
             const PipelineSchedule &schedule);

  /// Bytes of a rank of the stage besides those that last: of its slots and its
  /// scratch, or of its update, which has their place.
  int64_t bytesOf(int64_t stage) const;

private:
  unsigned inSegments(unsigned moments) const;
  std::pair<double, double> timeOf(ChunkMoment moment, int64_t chunk,
                                   int64_t part) const;
  /// Bytes that a chunk passes, and its number.
  using Passed = std::pair<int64_t, int64_t>;
  int64_t bytesOf(unsigned moments, std::vector<Passed> all) const;
  int64_t slotsOf(const std::vector<int64_t> &chunks, unsigned moments) const;
  std::pair<double, double> stayOf(unsigned moments, int64_t chunk,
                                   int64_t part) const;

  const PipelineRequest &request;
  const PipelineProblem &problem;
  const PipelineSchedule &schedule;
  /// The end of each command, by work, chunk and micro-batch.
  std::map<std::tuple<PipelineWork, int64_t, int64_t>, double> ends;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_CHUNKSLOTS_H
