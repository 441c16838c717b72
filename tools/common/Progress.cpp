#include "Progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

using namespace tpsp::tool;
using Clock = std::chrono::steady_clock;

Progress::Progress(bool quiet)
    : quiet(quiet), isTerminal(isatty(STDERR_FILENO)),
      watcher([this] { watch(); }) {}

Progress::~Progress() {
  done();
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
  }
  wake.notify_all();
  watcher.join();
}

void Progress::phase(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  clear();
  text = name;
  more.clear();
  begin = Clock::now();
  active = true;
  shown = false;
}

void Progress::detail(const std::string &value) {
  std::lock_guard<std::mutex> lock(mutex);
  more = value;
}

void Progress::done() {
  std::lock_guard<std::mutex> lock(mutex);
  clear();
  active = false;
}

void Progress::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stop) {
    wake.wait_for(lock, std::chrono::milliseconds(200));
    if (active && !quiet && Clock::now() - begin > std::chrono::seconds(1))
      show();
  }
}

void Progress::show() {
  if (!isTerminal) {
    if (!shown)
      fmt::print(stderr, "{} ...\n", text);
    shown = true;
    return;
  }
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print(stderr, "\r\033[K{} {} ({:.0f} s)", text, more, seconds);
  std::fflush(stderr);
  shown = true;
}

void Progress::clear() {
  if (shown && isTerminal) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
  shown = false;
}
