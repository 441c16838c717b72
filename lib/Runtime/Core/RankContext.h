/// The implementation of a tpsp_rt_rank handle.
#ifndef TPSP_RUNTIME_CORE_RANKCONTEXT_H
#define TPSP_RUNTIME_CORE_RANKCONTEXT_H

#include "ActionIssuer.h"
#include "PrepareCall.h"
#include "StepRecords.h"
#include "tpsp/Runtime/Backend.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

struct tpsp_rt_rank {
  using Status = tpsp::rt::Status;
  using Call = tpsp::rt::Call;

  tpsp_rt_rank(const tpsp::rt::BackendContext &world,
               const std::atomic<bool> &aborted, int64_t number)
      : world(world), aborted(aborted), number(number),
        coordinates(world.mesh.coordinates(number)),
        recordedIn(world.config.numEvents, 0) {}

  /// The Call of `command` in the micro-batch that runs, prepared on its first
  /// use.
  Status findCall(tpsp::rt::CallKind kind, const tpsp_rt_command &command,
                  Call *&out);

  /// Keeps track of the step's program order. When a new step begins, waits for
  /// the streams of the last one. INVALID for a wait on an event that was not
  /// recorded in this step.
  Status followOrder(const Call &call);

  /// Runs the step identified by `identity`, either by issuing or by replaying
  /// it.
  Status runStep(const void *identity,
                 const tpsp::rt::StepRecords::Issue &issue) {
    return records.run(*this, identity, issue);
  }

  /// Begins a step, whatever the last command's id was, and waits for the
  /// streams.
  Status beginStep();

  /// Issues a step that has begun. Its commands may come in any order, and
  /// repeatedly.
  Status issueStep(const tpsp::rt::StepRecords::Issue &issue);

  /// The status of a plan's return code, with the recorded message if the plan
  /// failed.
  Status result(tpsp_rt_status code) const;

  /// Records the message of the first failure, and returns the failure's code.
  tpsp_rt_status fail(const Status &status);

  /// The command that this rank issued last, and what its streams are running,
  /// in clauses. Callable from any thread.
  std::string activity();

  /// `in "forward 1" of micro-batch 3`; empty outside of plans with stages.
  /// Callable from any thread.
  std::string action() const;

  const tpsp::rt::BackendContext &world;
  const std::atomic<bool> &aborted;
  const int64_t number;
  /// The micro-batch whose commands are issued.
  tpsp::rt::MicroBatchPlace place;
  /// The segment of a stage whose commands are issued, and its micro-batch;
  /// null outside of plans with stages. For messages.
  std::atomic<const tpsp::PlanSegment *> segment{nullptr};
  std::atomic<int64_t> microBatch{0};
  const std::vector<int64_t> coordinates;
  std::unique_ptr<tpsp::rt::BackendRank> backend;
  /// Issues the segments of plans.
  tpsp::rt::ActionIssuer actions;
  std::string lastError;

private:
  /// The calls of a command, by the place of its buffers.
  struct PreparedCalls {
    bool isByMicroBatch = false;
    std::unordered_map<uint64_t, std::unique_ptr<Call>> calls;

    std::unique_ptr<Call> &at(const tpsp::rt::MicroBatchPlace &place,
                              const tpsp_rt_command &command) {
      uint64_t key = tpsp::rt::placeKey(place, command);
      return calls[isByMicroBatch ? key * 31 + uint64_t(place.microBatch)
                                  : key];
    }
  };
  std::unordered_map<const tpsp_rt_command *, PreparedCalls> calls;
  /// Declared after `backend` and `calls`, so that it is destroyed before them:
  /// a recorded step uses kernels that the calls keep loaded.
  tpsp::rt::StepRecords records;

  /// Other ranks read this for their messages. They hold the lock while they
  /// read. This rank takes it only before it destroys a Call.
  std::atomic<const Call *> current{nullptr};
  std::mutex retiring;

  /// Steps are told apart by command ids, which rise within a step, unless a
  /// caller marks where each step begins and ends.
  int64_t step = 1, lastId = -1;
  bool isInStep = false;
  /// By event: the last step that recorded it.
  std::vector<int64_t> recordedIn;
};

#endif // TPSP_RUNTIME_CORE_RANKCONTEXT_H
