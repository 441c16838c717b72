/// What stands behind a tpsp_rt_rank handle.
#ifndef TPSP_RUNTIME_CORE_RANKCONTEXT_H
#define TPSP_RUNTIME_CORE_RANKCONTEXT_H

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

  /// The Call of `command`, prepared on its first use.
  Status findCall(tpsp::rt::CallKind kind, const tpsp_rt_command &command,
                  Call *&out);

  /// Follows the step's program order, and waits for the last step's streams
  /// where a new one begins. A wait for an event that was not recorded in this
  /// step is INVALID.
  Status followOrder(const Call &call);

  /// Runs the step that is known as `identity`, as issued or as recorded.
  Status runStep(const void *identity,
                 const tpsp::rt::StepRecords::Issue &issue) {
    return records.run(*this, identity, issue);
  }

  /// Begins a step, whatever the last command's id was: waits for the streams.
  Status beginStep();

  /// Issues a step that has begun. Its commands may come in any order, and
  /// again.
  Status issueStep(const tpsp::rt::StepRecords::Issue &issue);

  /// What a plan returned, with the recorded message if it failed.
  Status result(tpsp_rt_status code) const;

  /// Records the message of a failure, if it is the first, and returns its
  /// code.
  tpsp_rt_status fail(const Status &status);

  /// What this rank issued last, and what its streams are at, in clauses. From
  /// any thread.
  std::string activity();

  const tpsp::rt::BackendContext &world;
  const std::atomic<bool> &aborted;
  const int64_t number;
  const std::vector<int64_t> coordinates;
  std::unique_ptr<tpsp::rt::BackendRank> backend;
  std::string lastError;

private:
  std::unordered_map<const tpsp_rt_command *, std::unique_ptr<Call>> calls;
  /// After `backend` and `calls`, so that they go before these: a recorded step
  /// has kernels that the calls keep loaded.
  tpsp::rt::StepRecords records;

  /// Read by other ranks' messages. The lock is taken by them, and by this rank
  /// only before it destroys a Call.
  std::atomic<const Call *> current{nullptr};
  std::mutex retiring;

  /// Steps are told apart by command ids, which rise within one, unless a
  /// caller says where each begins and ends.
  int64_t step = 1, lastId = -1;
  bool isInStep = false;
  /// By event: the step that recorded it last.
  std::vector<int64_t> recordedIn;
};

#endif // TPSP_RUNTIME_CORE_RANKCONTEXT_H
