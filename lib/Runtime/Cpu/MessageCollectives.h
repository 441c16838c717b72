/// Collectives between processes, whose ranks send each other messages.
///
/// Elements are combined in the order of the group by the same code as between
/// threads, so both give the same bits. A reduction receives into the stream's
/// scratch memory: (n - 1) / n of the source's bytes for n ranks.
#ifndef TPSP_RUNTIME_CPU_MESSAGECOLLECTIVES_H
#define TPSP_RUNTIME_CPU_MESSAGECOLLECTIVES_H

#include "../Core/Collectives.h"
#include "ScratchBuffer.h"
#include "tpsp/Runtime/Transport.h"

#include <functional>
#include <memory>

namespace tpsp::rt {

class MessageCollectives final : public Collectives<ScratchBuffer> {
public:
  /// Finds the channel of these ranks (ascending) on a stream for rank `rank`,
  /// which is one of them. Returns null if there is none.
  using FindChannel = std::function<Channel *(
      int64_t rank, int64_t stream, const std::vector<int64_t> &ranks)>;

  /// `abortChannels` ends all exchanges, pending and later.
  MessageCollectives(const BackendContext &world, FindChannel findChannel,
                     std::function<void()> abortChannels)
      : world(world), findChannel(std::move(findChannel)),
        abortChannels(std::move(abortChannels)) {}

  Status run(Call &call, const StreamUse<ScratchBuffer> &use) override;
  void abort() override { abortChannels(); }

private:
  const BackendContext &world;
  const FindChannel findChannel;
  const std::function<void()> abortChannels;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_MESSAGECOLLECTIVES_H
