// glibc's checked longjmp() refuses to jump to another stack.
#undef _FORTIFY_SOURCE

#include "BlockEmulator.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

using namespace tpsp::device;

namespace {

constexpr int64_t warp = 32;
/// Bytes of address space for a thread's stack, which holds the rows that a
/// thread keeps for itself. Pages that are not touched take no memory.
constexpr size_t stackBytes = size_t(2) << 20;

class Stack {
public:
  Stack()
      : memory(mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Stack() { munmap(memory, stackBytes); }
  Stack(const Stack &) = delete;

  void *memory;
};

/// How the threads of a warp exchange values.
enum class Exchange { Xor, Lane, Match };

struct Fiber {
  enum State { Ready, AtBarrier, AtShuffle, Done };

  /// Where the thread begins.
  ucontext_t context;
  /// Where it goes on. A jump there saves no mask of signals, unlike
  /// swapcontext(), which asks the kernel for it each time.
  jmp_buf place;
  bool hasBegun = false;
  State state = Ready;
  Exchange exchange = Exchange::Xor;
  /// The value that the thread gives, then the one that it gets.
  int32_t value = 0;
  /// The distance of the other lane for Xor; its number for Lane.
  int32_t number = 0;
};

class Block {
public:
  Block(BlockNumber number, int64_t threads, const std::function<void()> &body)
      : number(number), fibers(threads), body(body) {}

  std::string run(ThreadOrder order) {
    chooseOrder(order);
    for (int64_t i = 0; i < int64_t(fibers.size()); ++i)
      prepare(i);
    for (;;) {
      for (int64_t thread : sequence)
        if (fibers[thread].state == Fiber::Ready)
          resume(thread);
      bool moved = finishShuffles();
      moved |= finishBarrier();
      if (count(Fiber::Done) == int64_t(fibers.size()))
        return "";
      if (!moved)
        return explain();
      if (order == ThreadOrder::Shuffled)
        std::shuffle(sequence.begin(), sequence.end(), engine);
    }
  }

  void wait(Fiber::State state) {
    Fiber &fiber = fibers[running];
    fiber.state = state;
    if (_setjmp(fiber.place) == 0)
      _longjmp(scheduler, 1);
  }
  int32_t exchange(Exchange how, int32_t value, int32_t number) {
    Fiber &fiber = fibers[running];
    fiber.exchange = how;
    fiber.value = value;
    fiber.number = number;
    wait(Fiber::AtShuffle);
    return fiber.value;
  }

  BlockNumber number;
  int64_t running = 0;
  std::vector<Fiber> fibers;

private:
  static void start();

  void chooseOrder(ThreadOrder order) {
    sequence.resize(fibers.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    if (order == ThreadOrder::Backward)
      std::reverse(sequence.begin(), sequence.end());
    if (order == ThreadOrder::Shuffled)
      std::shuffle(sequence.begin(), sequence.end(), engine);
  }

  void prepare(int64_t thread) {
    static thread_local std::vector<std::unique_ptr<Stack>> stacks;
    while (int64_t(stacks.size()) <= thread)
      stacks.push_back(std::make_unique<Stack>());
    ucontext_t &context = fibers[thread].context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks[thread]->memory;
    context.uc_stack.ss_size = stackBytes;
    context.uc_link = nullptr;
    makecontext(&context, &Block::start, 0);
  }

  void resume(int64_t thread);

  int64_t count(Fiber::State state) const {
    return std::count_if(fibers.begin(), fibers.end(), [&](const Fiber &fiber) {
      return fiber.state == state;
    });
  }

  /// Returns the value that lane `lane` gets.
  static int32_t exchanged(const int32_t *values, int64_t lane,
                           const Fiber &fiber) {
    if (fiber.exchange == Exchange::Xor)
      return values[lane ^ fiber.number];
    if (fiber.exchange == Exchange::Lane)
      return values[fiber.number % warp];
    uint32_t same = 0;
    for (int64_t i = 0; i < warp; ++i)
      same |= uint32_t(values[i] == values[lane]) << i;
    return int32_t(same);
  }

  /// Finishes the shuffles of warps all of whose threads wait. Returns whether
  /// there were any.
  bool finishShuffles() {
    bool moved = false;
    for (int64_t first = 0; first + warp <= int64_t(fibers.size());
         first += warp) {
      auto *lanes = &fibers[first];
      bool isComplete = std::all_of(lanes, lanes + warp, [&](const Fiber &f) {
        return f.state == Fiber::AtShuffle && f.exchange == lanes->exchange &&
               (f.exchange != Exchange::Xor || f.number == lanes->number);
      });
      if (!isComplete)
        continue;
      int32_t values[warp];
      for (int64_t i = 0; i < warp; ++i)
        values[i] = lanes[i].value;
      for (int64_t i = 0; i < warp; ++i) {
        lanes[i].value = exchanged(values, i, lanes[i]);
        lanes[i].state = Fiber::Ready;
      }
      moved = true;
    }
    return moved;
  }

  bool finishBarrier() {
    if (count(Fiber::AtBarrier) != int64_t(fibers.size()))
      return false;
    for (Fiber &fiber : fibers)
      fiber.state = Fiber::Ready;
    return true;
  }

  std::string explain() const {
    return "threads of block " + std::to_string(number.x) +
           " wait forever: " + std::to_string(count(Fiber::AtBarrier)) +
           " at a barrier, " + std::to_string(count(Fiber::AtShuffle)) +
           " at a shuffle, " + std::to_string(count(Fiber::Done)) +
           " have ended";
  }

  const std::function<void()> &body;
  std::vector<int64_t> sequence;
  /// Where the scheduler goes on when a thread waits or has ended.
  jmp_buf scheduler;
  std::mt19937 engine{12345};
};

thread_local Block *current = nullptr;

} // namespace

void Block::start() {
  current->body();
  current->fibers[current->running].state = Fiber::Done;
  _longjmp(current->scheduler, 1);
}

void Block::resume(int64_t thread) {
  running = thread;
  current = this;
  if (_setjmp(scheduler) != 0)
    return;
  Fiber &fiber = fibers[thread];
  if (fiber.hasBegun)
    _longjmp(fiber.place, 1);
  fiber.hasBegun = true;
  setcontext(&fiber.context);
}

std::string tpsp::device::runBlock(BlockNumber block, int64_t threads,
                                   ThreadOrder order,
                                   const std::function<void()> &body) {
  return Block(block, threads, body).run(order);
}

int32_t tpsp::device::tpsp_device_thread() { return current->running; }
int32_t tpsp::device::tpsp_device_block() { return current->number.x; }
int32_t tpsp::device::tpsp_device_part() { return current->number.y; }
int32_t tpsp::device::tpsp_device_threads() { return current->fibers.size(); }
void tpsp::device::tpsp_device_barrier() { current->wait(Fiber::AtBarrier); }
int32_t tpsp::device::tpsp_device_shuffle(int32_t value, int32_t distance) {
  return current->exchange(Exchange::Xor, value, distance);
}
int32_t tpsp::device::tpsp_device_value_of(int32_t value, int32_t lane) {
  return current->exchange(Exchange::Lane, value, lane);
}
int32_t tpsp::device::tpsp_device_match(int32_t value) {
  return current->exchange(Exchange::Match, value, 0);
}
