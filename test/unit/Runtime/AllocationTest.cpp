/// A step after the first allocates nothing, whatever its commands are.
#include "tpsp/Abi/Commands.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/World.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};

void *countedAllocation(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed))
    ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}

} // namespace

// Replaces the whole program's operators, to count allocations.
void *operator new(std::size_t bytes) { return countedAllocation(bytes); }
void *operator new[](std::size_t bytes) { return countedAllocation(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace tpsp::rt;

namespace {

struct Item {
  int64_t stream;
  tpsp_rt_status (*call)(tpsp_rt_rank *, const tpsp_rt_command *);
  Params params;
  std::vector<int64_t> buffers;
};

/// Returns, on each of two streams, one of every command but matmul, in which
/// oneDNN allocates.
std::vector<Item> everyCommand() {
  ShardCommand shard;
  shard.axes = {0};
  shard.chunk = 16;
  AllReduceCommand reduce;
  reduce.axes = {0};
  reduce.counts = {16, 32};
  AllToAllCommand exchange;
  exchange.axes = {0};
  exchange.c = 16;
  PermuteCommand permute;
  permute.axes = {0};
  permute.count = 16;
  permute.source = {1, 0};
  EventCommand event;
  std::vector<Item> items;
  for (int64_t stream : {1, 0}) {
    int64_t x = 2048 * stream, y = x + 512, z = x + 1024;
    event.event = stream;
    items.insert(items.end(),
                 {{stream, tpsp_rt_kernel, KernelCommand().encode(), {x}},
                  {stream, tpsp_rt_slice, shard.encode(), {x, y}},
                  {stream, tpsp_rt_event_record, event.encode(), {}},
                  {1 - stream, tpsp_rt_event_wait, event.encode(), {}},
                  {stream, tpsp_rt_all_reduce, reduce.encode(), {x, y, z, z}},
                  {stream, tpsp_rt_all_gather, shard.encode(), {x, y}},
                  {stream, tpsp_rt_reduce_scatter, shard.encode(), {x, y}},
                  {stream, tpsp_rt_all_to_all, exchange.encode(), {x, y}},
                  {stream, tpsp_rt_permute, permute.encode(), {x, y}}});
  }
  return items;
}

std::vector<tpsp_rt_command> commandsOf(const std::vector<Item> &items) {
  std::vector<tpsp_rt_command> commands;
  for (const Item &item : items)
    commands.push_back(
        {int64_t(commands.size()), item.stream, item.params.data(),
         int64_t(item.params.size()), item.buffers.data(),
         int64_t(item.buffers.size()), nullptr, 0, nullptr, 0,
         [](void *const *, const int64_t *, int64_t, int64_t) {}, nullptr,
         "%a name that is too long for a small string"});
  return commands;
}

TEST(Allocation, NoneAfterTheFirstStep) {
  registerBuiltinBackends();
  WorldConfig config;
  config.mesh = {{"x", 2}};
  config.arenaBytes = 4096;
  config.numStreams = 2;
  config.numEvents = 2;
  std::unique_ptr<World> world;
  Status status = World::create(config, world);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<Item> items = everyCommand();
  std::vector<tpsp_rt_command> commands = commandsOf(items);
  // The function is made once, because making one allocates.
  std::function<Status(Rank &)> step = [&](Rank &rank) -> Status {
    for (size_t i = 0; i < items.size(); ++i)
      if (Status s = rank.result(items[i].call(rank.handle(), &commands[i]));
          !s.ok())
        return s;
    return {};
  };
  for (bool later : {false, true, true}) {
    counting = later;
    status = world->run(step);
    counting = false;
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(allocations, 0);
}

} // namespace
