#include "MailboxBackend.h"

#include "../../lib/Runtime/Cpu/CpuBackend.h"
#include "../../lib/Runtime/Cpu/MessageCollectives.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace tpsp::rt::conformance {
namespace {

struct Message {
  int32_t tag;
  std::vector<std::byte> bytes;
};

/// The messages in flight between the ranks of a world.
struct Mailboxes {
  /// Stream, group, sender, receiver.
  using Key = std::tuple<int64_t, std::vector<int64_t>, int64_t, int64_t>;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::deque<Message>> boxes;
  bool aborted = false;

  void abort() {
    std::lock_guard<std::mutex> lock(mutex);
    aborted = true;
    changed.notify_all();
  }
};

class MailboxChannel final : public Channel {
public:
  MailboxChannel(std::shared_ptr<Mailboxes> mail, int64_t stream,
                 std::vector<int64_t> ranks, int64_t self)
      : mail(std::move(mail)), stream(stream), ranks(std::move(ranks)),
        self(self) {}

  bool exchange(const Exchange &exchange, ExchangeFailure &failure) override {
    std::unique_lock<std::mutex> lock(mail->mutex);
    for (const Piece &piece : exchange.sends)
      mail->boxes[{stream, ranks, self, piece.rank}].push_back(
          {exchange.tag, pack(piece)});
    mail->changed.notify_all();
    auto end = std::chrono::steady_clock::now() +
               std::chrono::duration<double>(exchange.timeoutSeconds);
    for (size_t i = 0; i < exchange.receives.size(); ++i) {
      const Piece &piece = exchange.receives[i];
      auto &box = mail->boxes[{stream, ranks, piece.rank, self}];
      bool came = mail->changed.wait_until(
          lock, end, [&] { return mail->aborted || !box.empty(); });
      if (mail->aborted)
        return fail(failure, ExchangeFailure::Kind::Aborted, {});
      if (!came)
        return fail(failure, ExchangeFailure::Kind::TimedOut,
                    missing(exchange, i));
      if (box.front().tag != exchange.tag)
        return fail(failure, ExchangeFailure::Kind::Disagreed, {piece.rank});
      unpack(box.front().bytes, piece);
      box.pop_front();
    }
    return true;
  }

private:
  static bool fail(ExchangeFailure &failure, ExchangeFailure::Kind kind,
                   std::vector<int64_t> ranks) {
    failure = {kind, std::move(ranks), ""};
    return false;
  }

  /// Returns the ranks from which no message has arrived, for the receives from
  /// `first` on.
  std::vector<int64_t> missing(const Exchange &exchange, size_t first) {
    std::vector<int64_t> names;
    for (size_t i = first; i < exchange.receives.size(); ++i) {
      int64_t rank = exchange.receives[i].rank;
      if (mail->boxes[{stream, ranks, rank, self}].empty())
        names.push_back(rank);
    }
    return names;
  }

  static std::vector<std::byte> pack(const Piece &piece) {
    std::vector<std::byte> bytes(piece.rows * piece.bytes);
    for (int64_t row = 0; row < piece.rows; ++row)
      std::memcpy(bytes.data() + row * piece.bytes,
                  piece.data + row * piece.stride, piece.bytes);
    return bytes;
  }

  static void unpack(const std::vector<std::byte> &bytes, const Piece &piece) {
    ASSERT_EQ(int64_t(bytes.size()), piece.rows * piece.bytes);
    for (int64_t row = 0; row < piece.rows; ++row)
      std::memcpy(piece.data + row * piece.stride,
                  bytes.data() + row * piece.bytes, piece.bytes);
  }

  std::shared_ptr<Mailboxes> mail;
  const int64_t stream;
  const std::vector<int64_t> ranks;
  const int64_t self;
};

/// Makes channels on demand and keeps them.
struct Channels {
  std::shared_ptr<Mailboxes> mail = std::make_shared<Mailboxes>();
  std::mutex mutex;
  std::vector<std::unique_ptr<Channel>> all;

  Channel *find(int64_t rank, int64_t stream,
                const std::vector<int64_t> &ranks) {
    std::lock_guard<std::mutex> lock(mutex);
    all.push_back(std::make_unique<MailboxChannel>(mail, stream, ranks, rank));
    return all.back().get();
  }
};

Status makeBackend(const BackendContext &world, std::unique_ptr<Backend> &out) {
  auto channels = std::make_shared<Channels>();
  out = std::make_unique<CpuBackend>(
      world, std::make_unique<MessageCollectives>(
                 world,
                 [channels](int64_t rank, int64_t stream,
                            const std::vector<int64_t> &ranks) {
                   return channels->find(rank, stream, ranks);
                 },
                 [channels] { channels->mail->abort(); }));
  return {};
}

} // namespace

void registerMailboxBackend() { registerBackend("messages", makeBackend); }

} // namespace tpsp::rt::conformance
