#include "Workers.h"

#include "Generator.h"

#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tpsp::property;

namespace {

/// Seconds after which a program counts as hanging. It takes a second at most,
/// and a rank waits for others for up to 30.
constexpr unsigned secondsPerProgram = 1200;
/// A context keeps every type that it has seen, so processes are replaced now
/// and then.
constexpr unsigned programsPerProcess = 200;

/// A child process and its output, line by line.
class Child {
public:
  /// Runs `body(descriptor)` in a new process.
  template <typename Body> explicit Child(Body body) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0)
      std::abort();
    process = fork();
    if (process == 0) {
      close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    descriptor = ends[0];
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() { close(descriptor); }

  int getDescriptor() const { return descriptor; }

  /// Reads the available bytes. Returns false at the end.
  bool read() {
    std::array<char, 4096> bytes{};
    ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    if (count <= 0)
      return false;
    text.append(bytes.data(), count);
    return true;
  }
  /// Sets `line` to the next complete line. Returns false if there is none.
  bool takeLine(std::string &line) {
    size_t end = text.find('\n');
    if (end == std::string::npos)
      return false;
    line = text.substr(0, end);
    text.erase(0, end + 1);
    return true;
  }
  /// Returns how the process ended; empty if it ended well.
  std::string wait() const {
    int status = 0;
    waitpid(process, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      return "hangs: no end after " + std::to_string(secondsPerProgram) + " s";
    if (WIFSIGNALED(status))
      return std::string("crashes: ") + strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
      return "exits with status " + std::to_string(WEXITSTATUS(status));
    return "";
  }

private:
  pid_t process = -1;
  int descriptor = -1;
  std::string text;
};

void writeOutcome(int descriptor, const Outcome &outcome) {
  std::string line = std::to_string(outcome.verdict) + outcome.text;
  for (char &c : line)
    c = c == '\n' ? ' ' : c;
  line += '\n';
  if (write(descriptor, line.data(), line.size()) < 0)
    _exit(1);
}

Outcome readOutcome(const std::string &line) {
  return {Outcome::Verdict(line[0] - '0'), line.substr(1)};
}

/// One of several processes. It tries every `stride`-th seed from `next` on.
struct Worker {
  uint64_t next, end, stride;
  std::unique_ptr<Child> child;

  void start() {
    child = std::make_unique<Child>([this](int descriptor) {
      Trial trial;
      for (unsigned i = 0; i < programsPerProcess && next < end; ++i) {
        alarm(secondsPerProgram);
        writeOutcome(descriptor, trial.run(generate(next), next));
        next += stride;
      }
    });
  }
};

} // namespace

Outcome tpsp::property::tryApart(const Program &program, uint64_t seed) {
  Child child([&](int descriptor) {
    alarm(secondsPerProgram);
    Trial trial;
    writeOutcome(descriptor, trial.run(program, seed));
  });
  while (child.read())
    ;
  std::string end = child.wait(), line;
  if (child.takeLine(line))
    return readOutcome(line);
  return {Outcome::Failed, end.empty() ? "says nothing" : end};
}

void tpsp::property::tryAll(
    uint64_t first, uint64_t count, unsigned jobs,
    const std::function<void(uint64_t, const Outcome &)> &report) {
  std::vector<Worker> workers;
  for (unsigned job = 0; job < jobs && job < count; ++job)
    workers.push_back({first + job, first + count, jobs, nullptr});
  for (Worker &worker : workers)
    worker.start();
  while (!workers.empty()) {
    std::vector<pollfd> ready;
    for (const Worker &worker : workers)
      ready.push_back({worker.child->getDescriptor(), POLLIN, 0});
    poll(ready.data(), ready.size(), -1);
    for (size_t i = workers.size(); i-- > 0;) {
      Worker &worker = workers[i];
      if (ready[i].revents == 0)
        continue;
      bool open = worker.child->read();
      for (std::string line; worker.child->takeLine(line);) {
        report(worker.next, readOutcome(line));
        worker.next += worker.stride;
      }
      if (open)
        continue;
      if (std::string end = worker.child->wait(); !end.empty()) {
        report(worker.next, {Outcome::Failed, end});
        worker.next += worker.stride;
      }
      if (worker.next < worker.end)
        worker.start();
      else
        workers.erase(workers.begin() + i);
    }
  }
}
