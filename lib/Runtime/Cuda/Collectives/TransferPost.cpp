#include "TransferPost.h"

#include "Runtime/Core/WaitFailure.h"

#include <chrono>

namespace tpsp::rt {

static std::pair<int64_t, std::vector<int64_t>> lineOf(const Call &call) {
  return {call.stream, call.group.ranks};
}

static int64_t peerOf(const Call &call) {
  return call.group.ranks[size_t(1 - call.group.self)];
}

static Status disagree(const BackendContext &world, const Call &call) {
  ExchangeFailure failure;
  failure.kind = ExchangeFailure::Kind::Disagreed;
  failure.ranks = {peerOf(call)};
  return exchangeFailed(world, call, call.group.ranks[size_t(call.group.self)],
                        Exchange(), failure);
}

Status ThreadPost::send(const Call &call, std::vector<std::byte> bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  boxes[lineOf(call)].push_back({exchangeTag(call), std::move(bytes)});
  changed.notify_all();
  return {};
}

Status ThreadPost::receive(const Call &call, std::vector<std::byte> &bytes) {
  std::unique_lock<std::mutex> lock(mutex);
  std::deque<Letter> &box = boxes[lineOf(call)];
  std::chrono::duration<double> limit(world.config.timeoutSeconds);
  bool came =
      changed.wait_for(lock, limit, [&] { return isAborted || !box.empty(); });
  if (isAborted)
    return abortedByAnother();
  if (!came)
    return waitedFor(world, {peerOf(call)});
  Letter letter = std::move(box.front());
  box.pop_front();
  if (letter.tag != exchangeTag(call) || letter.bytes.size() != bytes.size())
    return disagree(world, call);
  bytes = std::move(letter.bytes);
  return {};
}

void ThreadPost::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  isAborted = true;
  changed.notify_all();
}

/// Processes outside of a group open a channel of their own with themselves,
/// because all processes must open one.
Status ProcessPost::open(const std::vector<GroupUse> &uses) {
  if (!isStarted)
    TPSP_TRY(sender.start("transfers between stages"));
  isStarted = true;
  Transport &transport = *world.config.transport;
  for (const GroupUse &use : uses) {
    if (!use.isTransfer || !opened.insert(use.key).second)
      continue;
    const std::vector<int64_t> &ranks = use.group.ranks;
    int64_t color =
        ranks.empty() ? transport.size() + transport.rank() : ranks.front();
    std::unique_ptr<Channel> channel;
    TPSP_TRY(transport.openChannel(color, channel));
    if (!ranks.empty())
      channels[{use.stream, ranks}] = std::move(channel);
  }
  return {};
}

Status ProcessPost::exchange(const Call &call, std::vector<std::byte> &bytes) {
  auto found = channels.find(lineOf(call));
  if (found == channels.end())
    return {TPSP_RT_INTERNAL, "there is no channel for this transfer"};
  if (bytes.empty())
    return {};
  Exchange exchange;
  exchange.tag = exchangeTag(call);
  exchange.timeoutSeconds = world.config.timeoutSeconds;
  int64_t size = int64_t(bytes.size());
  Piece piece{peerOf(call), bytes.data(), 1, size, size};
  (call.group.self == 0 ? exchange.sends : exchange.receives).push_back(piece);
  ExchangeFailure failure;
  if (found->second->exchange(exchange, failure))
    return {};
  return exchangeFailed(world, call, call.group.ranks[size_t(call.group.self)],
                        exchange, failure);
}

Status ProcessPost::send(const Call &call, std::vector<std::byte> bytes) {
  sender.enqueue(std::make_shared<Letter>(Letter{call, std::move(bytes)}));
  return {};
}

void ProcessPost::deliver(Letter &letter) {
  Status status = exchange(letter.call, letter.bytes);
  if (status.ok())
    return;
  world.failed(letter.call.group.ranks[0], inCall(letter.call, status));
  lost.push_back(std::move(letter));
}

Status ProcessPost::receive(const Call &call, std::vector<std::byte> &bytes) {
  return exchange(call, bytes);
}

} // namespace tpsp::rt
