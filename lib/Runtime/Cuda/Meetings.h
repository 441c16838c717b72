/// Where ranks meet on the host: to find out that all of them make the same
/// call before the GPU waits for it, and to exchange addresses where they share
/// a GPU. Every meeting is bounded by the world's timeout: TIMEOUT names who is
/// missing, INVALID who makes another call.
#ifndef TPSP_RUNTIME_CUDA_MEETINGS_H
#define TPSP_RUNTIME_CUDA_MEETINGS_H

#include "../Core/Rendezvous.h"

#include "tpsp/Runtime/Transport.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tpsp::rt {

class Meetings {
public:
  virtual ~Meetings() = default;

  /// Returns when rank `self` and all others of `ranks` (ascending) have come
  /// with this call.
  virtual Status meet(const Call &call, int64_t self,
                      const std::vector<int64_t> &ranks) = 0;

  /// The same, and tells every rank whether all have come with `yes`.
  virtual Status agree(const Call &call, int64_t self,
                       const std::vector<int64_t> &ranks, bool yes,
                       bool &all) = 0;

  /// Makes meetings, pending and later, return ABORTED. From any thread.
  virtual void abort() = 0;
};

/// Of threads of this process.
class ThreadMeetings final : public Meetings {
public:
  explicit ThreadMeetings(const BackendContext &world) : world(world) {}

  Status meet(const Call &call, int64_t self,
              const std::vector<int64_t> &ranks) override;
  Status agree(const Call &call, int64_t self,
               const std::vector<int64_t> &ranks, bool yes, bool &all) override;
  void abort() override;

  /// The meeting place of these ranks (ascending) on a stream; one for all
  /// orders of a group, so that ranks that disagree about the order meet.
  Rendezvous &place(int64_t stream, const std::vector<int64_t> &ranks);

private:
  const BackendContext &world;
  std::mutex mutex;
  std::map<std::pair<int64_t, std::vector<int64_t>>,
           std::unique_ptr<Rendezvous>>
      places;
  bool aborted = false;
};

/// Of processes with a rank each: a message to each other rank, whose tag is a
/// hash of the call.
class ProcessMeetings final : public Meetings {
public:
  explicit ProcessMeetings(const BackendContext &world) : world(world) {}

  Status meet(const Call &call, int64_t self,
              const std::vector<int64_t> &ranks) override {
    bool all = false;
    return agree(call, self, ranks, true, all);
  }
  Status agree(const Call &call, int64_t self,
               const std::vector<int64_t> &ranks, bool yes, bool &all) override;
  void abort() override { world.config.transport->abort(); }

private:
  Status failureOf(const Call &call, int64_t self,
                   const ExchangeFailure &failure) const;
  std::string nameRanks(const std::vector<int64_t> &ranks) const;

  const BackendContext &world;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_MEETINGS_H
