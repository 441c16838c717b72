/// Messages between "processes" that are threads of a test, each with a world
/// and a transport of its own.
#ifndef TPSP_TEST_CONFORMANCE_POSTTRANSPORT_H
#define TPSP_TEST_CONFORMANCE_POSTTRANSPORT_H

#include "tpsp/Runtime/Transport.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tpsp::rt::conformance {

struct Letter {
  int32_t tag;
  std::vector<std::byte> bytes;
};

/// The messages that are under way.
struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  /// The keys are channel, sender and receiver.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Letter>> boxes;
  bool isAborted = false;
  int64_t ranks = 0;
};

/// Supports pieces of one row only, because the tests need no others.
class PostChannel final : public Channel {
public:
  PostChannel(Post &post, int64_t number, int64_t self)
      : post(post), number(number), self(self) {}

  bool exchange(const Exchange &exchange, ExchangeFailure &failure) override {
    std::unique_lock<std::mutex> lock(post.mutex);
    for (const Piece &piece : exchange.sends)
      post.boxes[{number, self, piece.rank}].push_back(
          {exchange.tag, {piece.data, piece.data + piece.bytes}});
    post.changed.notify_all();
    auto end = std::chrono::steady_clock::now() +
               std::chrono::duration<double>(exchange.timeoutSeconds);
    for (const Piece &piece : exchange.receives)
      if (!receive(lock, piece, exchange.tag, end, failure))
        return false;
    return true;
  }

private:
  template <typename Time>
  bool receive(std::unique_lock<std::mutex> &lock, const Piece &piece,
               int32_t tag, Time end, ExchangeFailure &failure) {
    auto &box = post.boxes[{number, piece.rank, self}];
    bool came = post.changed.wait_until(
        lock, end, [&] { return post.isAborted || !box.empty(); });
    failure.ranks = {piece.rank};
    failure.kind = post.isAborted ? ExchangeFailure::Kind::Aborted
                   : !came        ? ExchangeFailure::Kind::TimedOut
                                  : ExchangeFailure::Kind::Disagreed;
    if (post.isAborted || !came || box.front().tag != tag)
      return false;
    std::memcpy(piece.data, box.front().bytes.data(), size_t(piece.bytes));
    box.pop_front();
    return true;
  }

  Post &post;
  const int64_t number, self;
};

class PostTransport final : public Transport {
public:
  PostTransport(Post &post, int64_t self)
      : post(post), self(self), channel(post, 0, self) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return post.ranks; }
  int64_t ranksOnHost() const override { return post.ranks; }
  Channel &everyone() override { return channel; }
  /// A rank's messages have their receivers, so the color is not needed.
  Status openChannel(int64_t, std::unique_ptr<Channel> &out) override {
    out = std::make_unique<PostChannel>(post, ++opened, self);
    return {};
  }
  void abort() override {
    std::lock_guard<std::mutex> lock(post.mutex);
    post.isAborted = true;
    post.changed.notify_all();
  }
  void announceFailure(const std::string &) override { abort(); }
  bool isReporter() override { return true; }
  void leave() override {}
  void finish() override {}

private:
  Post &post;
  const int64_t self;
  PostChannel channel;
  int64_t opened = 0;
};

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_POSTTRANSPORT_H
